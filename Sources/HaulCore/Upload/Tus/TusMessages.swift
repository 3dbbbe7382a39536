import FoundationEssentials

/// The requests of one upload by tus.
struct TusMessages: Sendable {
  let request: UploadRequest
  /// Where uploads are created: the given address, or where its server redirects to.
  var creator: ResourceURL
  /// Whether bytes go with POST instead of PATCH, which something on the way blocks.
  private(set) var overridesPatch = false
  /// Whether the server has taken bytes with POST in place of PATCH.
  var isOverrideTaken = false
  /// The parts whose method was refused once. Requests of others may have been under way then.
  private var blockedParts: Set<Int> = []

  init(request: UploadRequest) { (self.request, creator) = (request, request.url) }

  var discover: UploadMessage {
    var message = message("OPTIONS", creator)
    message.isOptional = true
    return message
  }

  /// - Parameters:
  ///   - length: in bytes; nil if it is not known.
  ///   - isPart: whether it is joined with others later.
  func create(length: Int64?, isPart: Bool) -> UploadMessage {
    let length = length.map { ("Upload-Length", "\($0)") } ?? ("Upload-Defer-Length", "1")
    let own = isPart ? ("Upload-Concat", "partial") : ("Upload-Metadata", metadata)
    var message = message("POST", creator, [length, own], range: 0..<0)
    message.isCreation = true
    return message
  }

  func ask(_ url: ResourceURL, part: Int = 0) -> UploadMessage {
    var message = message("HEAD", url)
    message.part = part
    return message
  }

  /// - Parameters:
  ///   - length: of the whole upload, if the server is to learn it; else nil.
  ///   - checksum: of the bytes, after the server's name of its algorithm; nil for none.
  func append(
    _ part: TusParts.Part, number: Int, _ chunk: ByteRange, length: Int64?,
    checksum: String?
  ) -> UploadMessage? {
    guard let url = part.url else { return nil }
    var fields = [
      ("Upload-Offset", "\(chunk.lowerBound - part.range.lowerBound)"),
      ("Content-Type", "application/offset+octet-stream"),
    ]
    if let length { fields.append(("Upload-Length", "\(length)")) }
    if let checksum { fields.append(("Upload-Checksum", checksum)) }
    if overridesPatch { fields.append(("X-HTTP-Method-Override", "PATCH")) }
    var message = message(overridesPatch ? "POST" : "PATCH", url, fields, range: chunk)
    message.part = number
    return message
  }

  /// The method of a part's request was refused.
  /// - Returns: whether the part can be sent with the other one.
  mutating func overridePatch(of part: Int) -> Bool {
    overridesPatch = true
    return blockedParts.insert(part).inserted
  }

  /// Makes the file of its parts.
  func join(_ parts: TusParts) -> UploadMessage {
    let urls = parts.all.compactMap { $0.url?.absoluteString }
    let own = [
      ("Upload-Concat", "final;\(urls.joined(separator: " "))"), ("Upload-Metadata", metadata),
    ]
    var message = message("POST", creator, own)
    // Without bytes, and the server may need minutes to answer.
    message.body = []
    return message
  }

  func delete(_ url: ResourceURL) -> UploadMessage { message("DELETE", url) }

  /// Some servers refuse a file without a type.
  private var metadata: String {
    [
      ("filename", request.source.files.first?.pathParts.name ?? "stream"),
      ("filetype", request.headers["Content-Type"] ?? "application/octet-stream"),
    ].map { "\($0) \(Data($1.utf8).base64EncodedString())" }.joined(separator: ",")
  }

  private func message(
    _ method: String, _ url: ResourceURL, _ own: [(String, String)] = [], range: ByteRange? = nil
  ) -> UploadMessage {
    // The caller's fields may be secrets of the first server.
    var fields = url.origin == request.url.origin ? request.headers : HeaderFields()
    // The type of the file is in its metadata.
    fields.remove("Content-Type")
    if method != "OPTIONS" { fields.append("Tus-Resumable", TusOffer.version) }
    for (name, value) in own { fields.append(name, value) }
    return UploadMessage(method, url, fields: fields, range: range)
  }
}
