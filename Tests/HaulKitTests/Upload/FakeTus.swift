import Foundation
import HaulCore
import HaulFiles
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers

/// A tus server in memory, as a transport, that fails when told to. It compares the checksum of
/// each body, drops a body that differs, and joins parts. By its clock, OPTIONS takes 50 ms, as if
/// it were far away.
final class FakeTus: Transport {
  struct Request: Sendable {
    let method: String
    /// With the number of the upload as its last part.
    let path: String
    let headers: HeaderFields
    var body: [UInt8]

    var number: Int { Int(path.split(separator: "/").last ?? "") ?? 0 }
    var isJoining: Bool { headers["Upload-Concat"]?.hasPrefix("final;") ?? false }
  }

  enum Fault: Sendable {
    /// The request does not arrive.
    case lost
    /// It has its effect, but the answer is lost.
    case answerLost
    /// Only so many bytes arrive; those without a checksum stay.
    case cut(Int)
    /// A byte arrives damaged.
    case damaged
    /// The answer comes only when the request is cancelled.
    case held
  }

  struct Upload: Sendable {
    let length: Int
    let isPart: Bool
    var bytes: [UInt8] = []
  }

  struct State: Sendable {
    /// By their number, from 1.
    var uploads: [Int: Upload] = [:]
    var count = 0
    var requests: [Request] = []
    /// Requests with bytes that are open at once, and the most so far.
    var open = 0
    var mostOpen = 0
    var barrier: RequestBarrier?

    /// The whole files that are no parts.
    var files: [[UInt8]] {
      uploads.values.filter { !$0.isPart && $0.bytes.count == $0.length }.map(\.bytes)
    }
  }

  let clock = ManualClock()
  private let extensions: String
  private let state = NIOLockedValueBox(State())
  private let fault: @Sendable (Request, State) -> Fault?

  init(
    _ extensions: String = "creation,termination,checksum,concatenation",
    _ fault: @escaping @Sendable (Request, State) -> Fault? = { _, _ in nil }
  ) {
    self.extensions = extensions
    self.fault = fault
  }

  var snapshot: State { state.withLockedValue { $0 } }

  func change(_ body: (inout State) -> Void) { state.withLockedValue { body(&$0) } }

  func fetch(_ request: FetchRequest) async throws -> FetchResponse {
    throw TransferError(.notYetSupported, "this server only takes uploads")
  }

  func send(_ message: SendRequest) async throws -> SendResponse {
    if message.method == "OPTIONS" { clock.advance(by: .milliseconds(50)) }
    let hasBytes = message.method == "PATCH"
    if hasBytes {
      state.withLockedValue {
        $0.open += 1
        $0.mostOpen = max($0.mostOpen, $0.open)
      }
    }
    defer { if hasBytes { state.withLockedValue { $0.open -= 1 } } }
    await snapshot.barrier?.wait(message.method)
    var request = Request(
      method: message.method, path: message.url.path, headers: message.headersToSend, body: [])
    if let content = message.body {
      for try await chunk in content { chunk.withBytes { request.body += $0 } }
    }
    let fault = state.withLockedValue { [request] state in
      defer { state.requests.append(request) }
      return self.fault(request, state)
    }
    let lost = TransferError(.connectionLost, "lost", isRetryable: true)
    switch fault {
    case .lost: throw lost
    case .held:
      for await _ in AsyncStream<Never>.makeStream().stream {}
      throw CancellationError()
    case .answerLost:
      _ = perform(request, message)
      throw lost
    case .cut(let count):
      if request.headers["Upload-Checksum"] == nil {
        request.body = Array(request.body.prefix(count))
        _ = perform(request, message)
      }
      throw lost
    case .damaged: request.body[0] ^= 1
    case nil: break
    }
    return perform(request, message)
  }

  private func perform(_ request: Request, _ message: SendRequest) -> SendResponse {
    let isDamaged = request.headers["Upload-Checksum"].map { $0 != Self.sum(request.body) }
    let extensions = extensions
    let (status, fields) = state.withLockedValue {
      $0.perform(request, isDamaged: isDamaged ?? false, extensions)
    }
    return SendResponse(
      head: ResponseHead(status: status, headers: HeaderFields(fields), url: message.url))
  }

  private static func sum(_ bytes: [UInt8]) -> String {
    var digest = IncrementalDigest([.sha1])
    bytes.withUnsafeBytes { digest.update($0) }
    return "sha1 \(Data(digest.checksums[0].bytes).base64EncodedString())"
  }
}

extension FakeTus.State {
  fileprivate mutating func perform(
    _ request: FakeTus.Request, isDamaged: Bool, _ extensions: String
  ) -> (Int, [(String, String)]) {
    let number = request.number
    switch request.method {
    case "OPTIONS":
      return (
        204,
        [
          ("Tus-Version", "1.0.0"), ("Tus-Extension", extensions),
          ("Tus-Checksum-Algorithm", "sha1"),
        ]
      )
    case "POST" where request.isJoining: return join(request)
    case "POST":
      guard let length = request.headers["Upload-Length"].flatMap({ Int($0) }) else {
        return (400, [])
      }
      let isPart = request.headers["Upload-Concat"] == "partial"
      return add(FakeTus.Upload(length: length, isPart: isPart))
    default: break
    }
    guard let upload = uploads[number] else { return (404, []) }
    switch request.method {
    case "HEAD":
      let fields = [
        ("Upload-Offset", "\(upload.bytes.count)"), ("Upload-Length", "\(upload.length)"),
      ]
      return (200, fields)
    case "PATCH":
      guard request.headers["Upload-Offset"] == "\(upload.bytes.count)" else { return (409, []) }
      guard !isDamaged else { return (460, []) }
      uploads[number]?.bytes += request.body
      return (204, [("Upload-Offset", "\(upload.bytes.count + request.body.count)")])
    default:
      uploads[number] = nil
      return (204, [])
    }
  }

  private mutating func add(_ upload: FakeTus.Upload) -> (Int, [(String, String)]) {
    count += 1
    uploads[count] = upload
    return (201, [("Location", "/files/\(count)")])
  }

  private mutating func join(_ request: FakeTus.Request) -> (Int, [(String, String)]) {
    let urls = request.headers["Upload-Concat"]?.dropFirst(6).split(separator: " ") ?? []
    let parts = urls.map { uploads[Int($0.split(separator: "/").last ?? "") ?? 0] }
    guard !parts.isEmpty,
      parts.allSatisfy({ $0.map { $0.isPart && $0.bytes.count == $0.length } ?? false })
    else { return (400, []) }
    let bytes = parts.flatMap { $0?.bytes ?? [] }
    return add(FakeTus.Upload(length: bytes.count, isPart: false, bytes: bytes))
  }
}
