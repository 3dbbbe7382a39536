import HaulCore
import HaulTesting
import NIOConcurrencyHelpers

/// A server of one resource in memory beside an S3 store, as one transport. It answers ranges, and
/// misbehaves when told to.
final class FakeSource: Transport {
  enum Fault: Sendable {
    case lost
    case status(Int, [(String, String)])
    /// Everything, whatever range was requested.
    case whole
    /// It has another version.
    case changed
    /// A range that is longer by one byte.
    case otherRange
    /// The body ends after so many bytes.
    case cutOff(Int)
    /// The answer comes only when the request is cancelled.
    case held
  }

  struct State: Sendable {
    var seed: UInt64 = 9
    var length: Int
    /// What it is; nil for bytes of the seed.
    var text: String?
    /// Nil for none.
    var tag: String? = "\"v1\""
    /// Nil for none.
    var type: String?
    /// More fields of each answer.
    var fields: [(String, String)] = []
    var hasLength = true
    var requests: [FetchRequest] = []

    /// Each requested range; whole requests are left out.
    var ranges: [Range<Int64>] {
      requests.compactMap { request in
        guard let first = request.firstByte, let last = request.lastByte else { return nil }
        return first..<(last + 1)
      }
    }
  }

  let store: FakeS3
  private let state: NIOLockedValueBox<State>
  private let fault: @Sendable (FetchRequest, State) -> Fault?

  init(
    _ length: Int, to store: FakeS3,
    _ fault: @escaping @Sendable (FetchRequest, State) -> Fault? = { _, _ in nil }
  ) {
    self.store = store
    self.fault = fault
    state = NIOLockedValueBox(State(length: length))
  }

  var snapshot: State { state.withLockedValue { $0 } }
  var content: [UInt8] {
    let state = snapshot
    return Self.bytes(of: state, at: 0, count: state.length)
  }

  private static func bytes(of state: State, at offset: Int64, count: Int) -> [UInt8] {
    state.text.map { Array($0.utf8.dropFirst(Int(offset)).prefix(count)) }
      ?? SeededContent(seed: state.seed).bytes(at: offset, count: count)
  }

  func change(_ body: (inout State) -> Void) { state.withLockedValue { body(&$0) } }

  func send(_ message: SendRequest) async throws -> SendResponse { try await store.send(message) }

  func fetch(_ request: FetchRequest) async throws -> FetchResponse {
    var (fault, now) = state.withLockedValue { state in
      defer { state.requests.append(request) }
      return (self.fault(request, state), state)
    }
    if case .changed = fault { (now.seed, now.tag, fault) = (10, "\"v2\"", nil) }
    let whole = answer(request, 0..<Int64(now.length), status: 200, now)
    guard let first = request.firstByte else { return whole }
    let last = request.lastByte ?? Int64(now.length - 1)
    let range = first..<min(Int64(now.length), last + 1)
    switch fault {
    case .lost: throw TransferError(.connectionLost, "lost", isRetryable: true)
    case .status(let status, let fields):
      return FetchResponse(
        head: ResponseHead(status: status, headers: HeaderFields(fields), url: request.url),
        bytes: [UInt8]())
    case .whole: return whole
    case .otherRange:
      return answer(request, first..<(range.upperBound + 1), status: 206, now)
    case .cutOff(let count):
      return answer(request, range, status: 206, now, sending: count)
    case .held:
      for await _ in AsyncStream<Never>.makeStream().stream {}
      throw CancellationError()
    case .changed, nil: break
    }
    if let condition = request.ifRange, condition != now.tag { return whole }
    return answer(request, range, status: 206, now)
  }

  private func answer(
    _ request: FetchRequest, _ range: Range<Int64>, status: Int, _ state: State,
    sending count: Int? = nil
  ) -> FetchResponse {
    var fields = state.tag.map { [("ETag", $0)] } ?? []
    if let type = state.type { fields.append(("Content-Type", type)) }
    fields += state.fields
    if state.hasLength { fields.append(("Content-Length", "\(range.count)")) }
    if status == 206 {
      fields.append(
        ("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(state.length)"))
    }
    return FetchResponse(
      head: ResponseHead(status: status, headers: HeaderFields(fields), url: request.url),
      bytes: Self.bytes(of: state, at: range.lowerBound, count: count ?? range.count))
  }
}
