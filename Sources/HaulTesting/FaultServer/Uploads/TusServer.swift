import HaulCore

/// A tus 1.0.0 server with creation and termination. It keeps the bytes of a PATCH that was lost.
struct TusServer: UploadServer {
  private struct Upload {
    let length: Int
    var bytes: [UInt8] = []
  }

  private var uploads: [String: Upload] = [:]
  private var count = 0
  private let root: String

  init(root: String) { self.root = root }

  /// The whole ones, by their addresses.
  var files: [String: [UInt8]] {
    uploads.filter { $0.value.bytes.count == $0.value.length }.mapValues(\.bytes)
  }

  mutating func answer(to request: RequestRecord) -> ServiceAnswer {
    var answer = answer(request)
    answer.headers += ["Tus-Resumable: 1.0.0", "Cache-Control: no-store"]
    return answer
  }

  private mutating func answer(_ request: RequestRecord) -> ServiceAnswer {
    switch request.method {
    case "OPTIONS":
      return ServiceAnswer(
        status: 204, headers: ["Tus-Version: 1.0.0", "Tus-Extension: creation,termination"])
    case "POST": return create(request)
    case "HEAD":
      guard let upload = uploads[request.path] else { return ServiceAnswer(status: 404) }
      return ServiceAnswer(
        status: 200, headers: [Self.offset(of: upload), "Upload-Length: \(upload.length)"])
    case "PATCH": return append(request)
    case "DELETE":
      return ServiceAnswer(status: uploads.removeValue(forKey: request.path) == nil ? 404 : 204)
    default: return ServiceAnswer(status: 405)
    }
  }

  private mutating func create(_ request: RequestRecord) -> ServiceAnswer {
    guard let length = request.header("Upload-Length").flatMap({ Int($0) }) else {
      return ServiceAnswer(status: 400)
    }
    count += 1
    let address = "\(root)\(count)"
    uploads[address] = Upload(length: length)
    return ServiceAnswer(status: 201, headers: ["Location: \(address)"])
  }

  private mutating func append(_ request: RequestRecord) -> ServiceAnswer {
    guard let upload = uploads[request.path] else { return ServiceAnswer(status: 404) }
    guard request.header("Content-Type") == "application/offset+octet-stream" else {
      return ServiceAnswer(status: 415)
    }
    guard request.header("Upload-Offset") == "\(upload.bytes.count)",
      upload.bytes.count + request.body.count <= upload.length
    else { return ServiceAnswer(status: 409) }
    var longer = upload
    longer.bytes += request.body
    uploads[request.path] = longer
    return ServiceAnswer(status: 204, headers: [Self.offset(of: longer)])
  }

  mutating func abandoned(_ request: RequestRecord) {
    if request.method == "PATCH" { _ = append(request) }
  }

  private static func offset(of upload: Upload) -> String { "Upload-Offset: \(upload.bytes.count)" }
}
