import Foundation
import HaulCore
import HaulFiles
import HaulKit
import NIOConcurrencyHelpers

/// An S3 store in memory, as a transport, that fails when told to. It checks the MD5 and the CRC32C
/// of each body, that of each whole object, and that each request is signed.
final class FakeS3: Transport {
  struct Request: Sendable {
    let method: String
    let path: String
    /// The query without its values.
    let names: [String]
    let part: Int?
    let headers: HeaderFields
    var body: [UInt8]
  }

  enum Fault: Sendable {
    /// The request does not arrive.
    case lost
    /// It has its effect, but the answer is lost.
    case answerLost
    /// The same, but only the end of its body is.
    case cut
    case answer(Int, String)
    /// A byte of the body arrives changed.
    case damaged
    /// The answer comes only when the request is cancelled.
    case held
  }

  struct Upload: Sendable {
    let path: String
    let metadata: HeaderFields
    var hasChecksum = false
    var parts: [Int: (tag: String, bytes: [UInt8])] = [:]
  }

  struct State: Sendable {
    var knowsChecksums = true
    /// Whether it tells the checksum of an object to a client that asks for it.
    var statesChecksums = false
    /// The conditions that it ignores, by the name of their field.
    var ignoredConditions: Set<String> = []
    /// Whether the bucket keeps each version of an object, until that is deleted by its name.
    var keepsVersions = false
    var versions: Set<String> = []
    /// When uploads began, if not late.
    var begun: [String: String] = [:]
    var objects: [String: (bytes: [UInt8], metadata: HeaderFields)] = [:]
    /// The entity tags of the objects.
    var tags: [String: String] = [:]
    var uploads: [String: Upload] = [:]
    var requests: [Request] = []
    var uploadCount = 0
    /// Requests that are open at once, and the most so far.
    var open = 0
    var mostOpen = 0
    var barrier: RequestBarrier?
  }

  private let state = NIOLockedValueBox(State())
  private let fault: @Sendable (Request, State) -> Fault?

  init(_ fault: @escaping @Sendable (Request, State) -> Fault? = { _, _ in nil }) {
    self.fault = fault
  }

  var snapshot: State { state.withLockedValue { $0 } }

  func change(_ body: (inout State) -> Void) { state.withLockedValue { body(&$0) } }

  func fetch(_ request: FetchRequest) async throws -> FetchResponse {
    throw TransferError(.notYetSupported, "this server only takes uploads")
  }

  func send(_ message: SendRequest) async throws -> SendResponse {
    state.withLockedValue {
      $0.open += 1
      $0.mostOpen = max($0.mostOpen, $0.open)
    }
    defer { state.withLockedValue { $0.open -= 1 } }
    await snapshot.barrier?.wait(message.method)
    var body: [UInt8] = []
    if let content = message.body {
      for try await chunk in content { chunk.withBytes { body += $0 } }
    }
    let request = Self.request(message, body)
    let fault = state.withLockedValue { state in
      defer { state.requests.append(request) }
      return self.fault(request, state)
    }
    let lost = TransferError(.connectionLost, "lost", isRetryable: true)
    switch fault {
    case .lost: throw lost
    case .answer(let status, let text): return Self.answer(status, text, message)
    case .held:
      for await _ in AsyncStream<Never>.makeStream().stream {}
      throw CancellationError()
    case .answerLost:
      _ = perform(request, message)
      throw lost
    case .cut:
      let whole = perform(request, message)
      return SendResponse(
        head: whole.head, body: whole.body.dropLast(whole.body.count / 2), isWhole: false)
    case .damaged:
      var damaged = request
      damaged.body[0] ^= 1
      return perform(damaged, message)
    case nil: return perform(request, message)
    }
  }

  private static func request(_ message: SendRequest, _ body: [UInt8]) -> Request {
    let parts = message.url.pathAndQuery.split(separator: "?", maxSplits: 1)
    let items = (parts.count == 2 ? parts[1] : "").split(separator: "&").map {
      $0.split(separator: "=", maxSplits: 1).map(String.init)
    }
    let part = items.first { $0[0] == "partNumber" }.flatMap { Int($0[1]) }
    return Request(
      method: message.method, path: message.url.path, names: items.map { $0[0] }.sorted(),
      part: part, headers: message.headersToSend, body: body)
  }

  private static func answer(
    _ status: Int, _ text: String = "", _ message: SendRequest, _ fields: [(String, String)] = []
  ) -> SendResponse {
    SendResponse(
      head: ResponseHead(status: status, headers: HeaderFields(fields), url: message.url),
      body: Array(text.utf8))
  }

  private func perform(_ request: Request, _ message: SendRequest) -> SendResponse {
    let isSigned = request.headers["Authorization"]?.hasPrefix("AWS4-HMAC-SHA256 ") ?? false
    guard isSigned else { return Self.answer(403, Self.error("AccessDenied"), message) }
    let tag = Self.digest(.md5, request.body)
    let isPart = request.method == "PUT"
    let crc = Self.digest(.crc32c, request.body).base64
    guard request.headers["Content-MD5"].map({ $0 == tag.base64 }) ?? true,
      !isPart || (request.headers["x-amz-checksum-crc32c"].map { $0 == crc } ?? true)
    else { return Self.answer(400, Self.error("BadDigest"), message) }
    let address = message.url.absoluteString
    let id =
      ["uploadId=", "versionId="].lazy.compactMap { name in
        address.split(separator: name).dropFirst().first
      }.first ?? ""
    return state.withLockedValue { state in
      state.perform(request, String(id), tag: tag.hex) { status, text, fields in
        Self.answer(status, text, message, fields)
      }
    }
  }

  static func error(_ code: String) -> String { "<Error><Code>\(code)</Code></Error>" }

  fileprivate static func digest(
    _ algorithm: Checksum.Algorithm, _ bytes: [UInt8]
  ) -> (hex: String, base64: String) {
    var digest = IncrementalDigest([algorithm])
    bytes.withUnsafeBytes { digest.update($0) }
    let checksum = digest.checksums[0]
    return (checksum.hex, Data(checksum.bytes).base64EncodedString())
  }
}

extension FakeS3.State {
  fileprivate mutating func perform(
    _ request: FakeS3.Request, _ id: String, tag: String,
    _ answer: (Int, String, [(String, String)]) -> SendResponse
  ) -> SendResponse {
    switch (request.method, request.names) {
    case ("HEAD", []):
      guard let object = objects[request.path] else { return answer(404, "", []) }
      return answer(
        200, "",
        [("Content-Length", "\(object.bytes.count)")]
          + (tags[request.path].map { [("ETag", $0)] } ?? [])
          + (statesChecksums && request.headers["x-amz-checksum-mode"] == "ENABLED"
            ? [
              ("x-amz-checksum-crc64nvme", FakeS3.digest(.crc64nvme, object.bytes).base64),
              ("x-amz-checksum-type", "FULL_OBJECT"),
            ] : [])
          + object.metadata.fields.map { ($0.name, $0.value) })
    case ("PUT", []):
      if let (status, code) = unmet(request) { return answer(status, FakeS3.error(code), []) }
      objects[request.path] = (request.body, Self.metadata(request))
      tags[request.path] = "\"\(tag)\""
      let checksum = request.headers["x-amz-checksum-crc32c"].map { ("x-amz-checksum-crc32c", $0) }
      let version = keepsVersions ? ("x-amz-version-id", "v\(requests.count)") : nil
      if let version { versions.insert(version.1) }
      return answer(200, "", [("ETag", "\"\(tag)\""), checksum, version].compactMap(\.self))
    case ("GET", []):
      guard let object = objects[request.path] else {
        return answer(404, FakeS3.error("NoSuchKey"), [])
      }
      return answer(200, String(decoding: object.bytes, as: UTF8.self), [])
    case ("GET", ["max-uploads", "prefix", "uploads"]):
      let listed = uploads.sorted { $0.key < $1.key }.map { id, upload in
        "<Upload><Key>\(PercentCoding.text(upload.path.dropFirst("/b/".count)))</Key>"
          + "<UploadId>\(id)</UploadId>"
          + "<Initiated>\(begun[id] ?? "2100-01-01T00:00:00.000Z")</Initiated></Upload>"
      }
      let text = listed.joined()
      return answer(
        200, "<ListMultipartUploadsResult>\(text)</ListMultipartUploadsResult>", [])
    case ("DELETE", ["versionId"]):
      versions.remove(id)
      objects[request.path] = nil
      return answer(204, "", [])
    case ("DELETE", []):
      objects[request.path] = nil
      return answer(204, "", [])
    case ("POST", ["uploads"]):
      uploadCount += 1
      let agreed = ["x-amz-checksum-algorithm", "x-amz-checksum-type"].compactMap { name in
        knowsChecksums ? request.headers[name].map { (name, $0) } : nil
      }
      uploads["u\(uploadCount)"] = FakeS3.Upload(
        path: request.path, metadata: Self.metadata(request), hasChecksum: agreed.count == 2)
      let name = "<UploadId>u\(uploadCount)</UploadId>"
      return answer(
        200, "<InitiateMultipartUploadResult>\(name)</InitiateMultipartUploadResult>", agreed)
    default: break
    }
    guard var upload = uploads[id] else { return answer(404, FakeS3.error("NoSuchUpload"), []) }
    switch request.method {
    case "PUT":
      upload.parts[request.part ?? 0] = (tag, request.body)
      uploads[id] = upload
      return answer(200, "", [("ETag", "\"\(tag)\"")])
    case "GET":
      let parts = upload.parts.sorted { $0.key < $1.key }.map { number, part in
        let checksum =
          upload.hasChecksum
          ? "<ChecksumCRC32C>\(FakeS3.digest(.crc32c, part.bytes).base64)</ChecksumCRC32C>" : ""
        return "<Part><PartNumber>\(number)</PartNumber><ETag>\"\(part.tag)\"</ETag>"
          + "<Size>\(part.bytes.count)</Size>\(checksum)</Part>"
      }
      return answer(200, "<ListPartsResult>\(parts.joined())</ListPartsResult>", [])
    case "POST":
      if !ignoredConditions.contains("complete"), let (status, code) = unmet(request) {
        return answer(status, FakeS3.error(code), [])
      }
      let bytes = upload.parts.sorted { $0.key < $1.key }.flatMap(\.value.bytes)
      var checksum = ""
      if upload.hasChecksum {
        let found = FakeS3.digest(.crc32c, bytes).base64
        guard request.headers["x-amz-checksum-crc32c"] == found else {
          return answer(400, FakeS3.error("BadDigest"), [])
        }
        checksum =
          "<ChecksumCRC32C>\(found)</ChecksumCRC32C><ChecksumType>FULL_OBJECT</ChecksumType>"
      }
      objects[upload.path] = (bytes, upload.metadata)
      tags[upload.path] = "\"\(FakeS3.digest(.md5, bytes).hex)-\(upload.parts.count)\""
      uploads[id] = nil
      return answer(
        200, "<CompleteMultipartUploadResult>\(checksum)</CompleteMultipartUploadResult>", [])
    default:
      uploads[id] = nil
      return answer(204, "", [])
    }
  }

  /// Why the object may not be made, as Amazon says it; nil if it may.
  private func unmet(_ request: FakeS3.Request) -> (status: Int, code: String)? {
    let isThere = objects[request.path] != nil
    if request.headers["If-None-Match"] == "*", !ignoredConditions.contains("If-None-Match"),
      isThere
    {
      return (412, "PreconditionFailed")
    }
    guard let tag = request.headers["If-Match"], !ignoredConditions.contains("If-Match") else {
      return nil
    }
    guard isThere else { return (404, "NoSuchKey") }
    return tags[request.path] == tag ? nil : (412, "PreconditionFailed")
  }

  private static func metadata(_ request: FakeS3.Request) -> HeaderFields {
    HeaderFields(
      request.headers.filter { field in
        let name = field.name.lowercased()
        return name == "content-type" || name.hasPrefix("x-amz-meta-")
      })
  }
}
