import Crypto
import FoundationEssentials
import HaulCore

/// An S3 store, as far as transfers need one: objects, their list, and uploads in parts of at most
/// 16 MiB. It takes only signed requests, but does not check the signatures. Conditions are obeyed
/// as Amazon does, unless told otherwise.
struct S3Server: UploadServer {
  private struct Upload {
    var path: String
    /// The `x-amz-meta-` fields of the object.
    var metadata: [String]
    var parts: [Int: [UInt8]] = [:]
  }

  /// Whether it ignores conditions, as some stores do.
  private let ignoresConditions: Bool
  private(set) var files: [String: [UInt8]] = [:]
  /// Of the objects, each `ETag: "…"`.
  private var tags: [String: String] = [:]
  private var metadata: [String: [String]] = [:]
  private var uploads: [String: Upload] = [:]
  private var count = 0

  init(ignoresConditions: Bool = false) { self.ignoresConditions = ignoresConditions }

  mutating func answer(to request: RequestRecord) -> ServiceAnswer {
    guard request.header("Authorization")?.hasPrefix("AWS4-HMAC-SHA256 ") == true else {
      return Self.refusal(403, "AccessDenied")
    }
    let body = Data(Insecure.MD5.hash(data: request.body)).base64EncodedString()
    guard request.header("Content-MD5").map({ $0 == body }) ?? true else {
      return Self.refusal(400, "BadDigest")
    }
    let query = Self.query(of: request.target)
    switch (request.method, query["uploadId"]) {
    case ("PUT", nil):
      if let refusal = unmet(request) { return refusal }
      (files[request.path], metadata[request.path]) = (request.body, Self.metadata(of: request))
      tags[request.path] = Self.tag(of: request.body)
      return ServiceAnswer(status: 200, headers: [Self.tag(of: request.body)])
    case ("HEAD", nil):
      guard let file = files[request.path], let tag = tags[request.path] else {
        return ServiceAnswer(status: 404)
      }
      return ServiceAnswer(status: 200, headers: (metadata[request.path] ?? []) + [tag], body: file)
    case ("GET", nil) where query["list-type"] == "2": return list(request, query)
    case ("GET", nil):
      guard let file = files[request.path], let tag = tags[request.path] else {
        return Self.refusal(404, "NoSuchKey")
      }
      return ServiceAnswer(status: 200, headers: [tag], body: file)
    case ("POST", nil): return create(request)
    case (_, let id?): return handle(request, query, of: id)
    default: return Self.refusal(405, "MethodNotAllowed")
    }
  }

  /// A page of at most two objects, so that few have several pages.
  private func list(_ request: RequestRecord, _ query: [String: String]) -> ServiceAnswer {
    let prefix = PercentCoding.text(query["prefix"] ?? "")
    let keys = files.keys.compactMap { $0.dropping(bytePrefix: request.path) }
      .map { PercentCoding.text($0) }.filter { $0.hasBytePrefix(prefix) }.sorted()
    let start = query["continuation-token"].flatMap { Int($0) } ?? 0
    let page = keys.dropFirst(start).prefix(2)
    let next = start + page.count
    return Self.document(
      "ListBucketResult",
      "<EncodingType>url</EncodingType><IsTruncated>\(next < keys.count)</IsTruncated>"
        + "<NextContinuationToken>\(next)</NextContinuationToken>"
        + page.map { "<Contents><Key>\(PercentCoding.component($0))</Key></Contents>" }.joined())
  }

  private mutating func create(_ request: RequestRecord) -> ServiceAnswer {
    count += 1
    uploads["\(count)"] = Upload(path: request.path, metadata: Self.metadata(of: request))
    return Self.document("InitiateMultipartUploadResult", "<UploadId>\(count)</UploadId>")
  }

  /// A request about an upload in parts.
  private mutating func handle(
    _ request: RequestRecord, _ query: [String: String], of id: String
  ) -> ServiceAnswer {
    guard var upload = uploads[id] else { return Self.refusal(404, "NoSuchUpload") }
    switch request.method {
    case "PUT":
      upload.parts[query["partNumber"].flatMap { Int($0) } ?? 0] = request.body
      uploads[id] = upload
      return ServiceAnswer(status: 200, headers: [Self.tag(of: request.body)])
    case "GET":
      let parts = upload.parts.sorted { $0.key < $1.key }.map { number, bytes in
        "<Part><PartNumber>\(number)</PartNumber><Size>\(bytes.count)</Size>"
          + "<ETag>\(Self.hex(bytes))</ETag></Part>"
      }
      return Self.document("ListPartsResult", parts.joined())
    case "POST":
      if let refusal = unmet(request) { return refusal }
      files[upload.path] = upload.parts.sorted { $0.key < $1.key }.flatMap(\.value)
      metadata[upload.path] = upload.metadata
      tags[upload.path] = "ETag: \"\(Self.tag(ofObject: upload))\""
      uploads[id] = nil
      return Self.document(
        "CompleteMultipartUploadResult", "<ETag>\(Self.tag(ofObject: upload))</ETag>")
    default:
      uploads[id] = nil
      return ServiceAnswer(status: 204)
    }
  }

  /// Why the object may not be made; nil if it may.
  private func unmet(_ request: RequestRecord) -> ServiceAnswer? {
    guard !ignoresConditions else { return nil }
    let tag = tags[request.path]
    if request.header("If-None-Match") == "*", tag != nil {
      return Self.refusal(412, "PreconditionFailed")
    }
    guard let asked = request.header("If-Match") else { return nil }
    guard let tag else { return Self.refusal(404, "NoSuchKey") }
    return tag == "ETag: \(asked)" ? nil : Self.refusal(412, "PreconditionFailed")
  }

  private static func query(of target: String) -> [String: String] {
    let items = target.drop { $0 != "?" }.dropFirst().split(separator: "&").map {
      $0.split(separator: "=", maxSplits: 1).map(String.init)
    }
    return Dictionary(items.map { ($0[0], $0.count > 1 ? $0[1] : "") }) { first, _ in first }
  }

  private static func metadata(of request: RequestRecord) -> [String] {
    request.headerLines.filter { $0.lowercased().hasPrefix("x-amz-meta-") }
  }

  /// As most stores make it: the MD5 of those of the parts, and their number.
  private static func tag(ofObject upload: Upload) -> String {
    let parts = upload.parts.sorted { $0.key < $1.key }.flatMap {
      Array(Insecure.MD5.hash(data: $0.value))
    }
    return "\(hex(parts))-\(upload.parts.count)"
  }

  private static func hex(_ bytes: [UInt8]) -> String {
    Insecure.MD5.hash(data: bytes).hexDigits
  }

  private static func tag(of bytes: [UInt8]) -> String { "ETag: \"\(hex(bytes))\"" }

  private static func document(_ name: String, _ content: String) -> ServiceAnswer {
    ServiceAnswer(status: 200, body: Array("<\(name)>\(content)</\(name)>".utf8))
  }

  private static func refusal(_ status: Int, _ code: String) -> ServiceAnswer {
    ServiceAnswer(status: status, body: Array("<Error><Code>\(code)</Code></Error>".utf8))
  }
}
