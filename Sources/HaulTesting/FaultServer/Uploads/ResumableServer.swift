import HaulCore

/// A server of resumable uploads (draft-ietf-httpbis-resumable-upload) that speaks one version.
/// A plain PUT stores the file too.
struct ResumableServer: UploadServer {
  private struct Upload {
    var target: String
    var length: Int64?
    var bytes: [UInt8] = []
    var isComplete = false
  }

  private(set) var files: [String: [UInt8]] = [:]
  private var uploads: [String: Upload] = [:]
  private let root: String
  private let version: Int
  /// The most bytes of one request, and the fewest of one that does not complete the upload.
  private static let maximumAppend = 6 << 20
  private static let minimumAppend = 5 << 20

  init(root: String, version: Int) {
    self.root = root
    self.version = version
  }

  mutating func answer(to request: RequestRecord) -> ServiceAnswer {
    let isKnown = request.header("Upload-Draft-Interop-Version") == "\(version)"
    switch request.method {
    case "OPTIONS": return ServiceAnswer(status: 204, headers: isKnown ? [Self.limit] : [])
    case "PUT" where isKnown && request.header("Upload-Complete") == "?0": return create(request)
    case "PUT":
      files[request.path] = request.body
      return ServiceAnswer(status: 201)
    case "HEAD":
      guard let upload = uploads[request.path] else { return ServiceAnswer(status: 404) }
      return ServiceAnswer(status: 204, headers: Self.fields(of: upload))
    case "PATCH": return append(request)
    case "DELETE":
      return ServiceAnswer(status: uploads.removeValue(forKey: request.path) == nil ? 404 : 204)
    default: return ServiceAnswer(status: 405)
    }
  }

  private static let limit =
    "Upload-Limit: max-append-size=\(maximumAppend), min-append-size=\(minimumAppend), max-age=3600"

  private static func fields(of upload: Upload) -> [String] {
    [
      "Upload-Offset: \(upload.bytes.count)", "Upload-Complete: ?\(upload.isComplete ? 1 : 0)",
      "Cache-Control: no-store",
    ] + (upload.length.map { ["Upload-Length: \($0)"] } ?? [])
  }

  private mutating func create(_ request: RequestRecord) -> ServiceAnswer {
    let address = "\(root)uploads/\(uploads.count + 1)"
    let upload = Upload(
      target: request.path, length: request.header("Upload-Length").flatMap { Int64($0) })
    uploads[address] = upload
    return ServiceAnswer(
      status: 201, headers: Self.fields(of: upload) + ["Location: \(address)", Self.limit])
  }

  /// Section 4.4 of the draft, with its problem types as media type only.
  private mutating func append(_ request: RequestRecord) -> ServiceAnswer {
    guard var upload = uploads[request.path] else { return ServiceAnswer(status: 404) }
    let isType = request.header("Content-Type") == "application/partial-upload"
    guard isType else { return ServiceAnswer(status: 415) }
    guard !upload.isComplete, request.body.count <= Self.maximumAppend else {
      return ServiceAnswer(status: upload.isComplete ? 400 : 413, headers: Self.fields(of: upload))
    }
    guard request.header("Upload-Offset") == "\(upload.bytes.count)" else {
      return ServiceAnswer(status: 409, headers: Self.fields(of: upload))
    }
    upload.isComplete = request.header("Upload-Complete") == "?1"
    guard upload.isComplete || request.body.count >= Self.minimumAppend else {
      return ServiceAnswer(status: 400)
    }
    upload.bytes += request.body
    if upload.isComplete, let length = upload.length, length != Int64(upload.bytes.count) {
      return ServiceAnswer(status: 400)
    }
    uploads[request.path] = upload
    if upload.isComplete { files[upload.target] = upload.bytes }
    return ServiceAnswer(status: upload.isComplete ? 201 : 204, headers: Self.fields(of: upload))
  }

  /// Keeps the bytes that have arrived.
  mutating func abandoned(_ request: RequestRecord) {
    guard request.method == "PATCH", var upload = uploads[request.path], !upload.isComplete,
      request.header("Upload-Offset") == "\(upload.bytes.count)"
    else { return }
    upload.bytes += request.body
    uploads[request.path] = upload
  }
}
