/// What a server says about the length of a file that it has taken. One that says nothing is
/// believed.
enum StoredLength {
  /// From the answer to HEAD (RFC 9110, section 9.3.2); nil if it is not the length of the file.
  ///
  /// Some servers answer every HEAD with a page, or with no length at all. A coded answer has
  /// another length than the file.
  static func head(_ head: ResponseHead, of request: UploadRequest) -> Int64? {
    guard head.status == 200, head.contentCoding == nil, !isPage(head, of: request), !isOld(head),
      case .bytes(let length) = ContentLength(head.headers)
    else { return nil }
    let isOfFile = ["ETag", "Last-Modified", "Accept-Ranges"].contains { head.headers[$0] != nil }
    return length > 0 || isOfFile ? length : nil
  }

  /// From the answer to PROPFIND (RFC 4918, section 15.4); nil if it has no length.
  static func property(_ answer: UploadAnswer) -> Int64? {
    let texts = properties(answer).filter { $0.name == "getcontentlength" }
    let lengths = Set(texts.compactMap { Int64($0.text.trimmingBytes(" \t\r\n")) })
    return lengths.count == 1 ? lengths.first : nil
  }

  /// Whether the answer to PROPFIND is of a directory (RFC 4918, section 15.9); nil if it does not
  /// say so.
  static func isCollection(_ answer: UploadAnswer) -> Bool? {
    let types = properties(answer).filter { $0.name == "resourcetype" }
    guard !types.isEmpty else { return nil }
    return types.flatMap(\.children).contains { $0.name == "collection" }
  }

  fileprivate static func properties(_ answer: UploadAnswer) -> [XMLElement] {
    guard answer.head.status == 207, let root = XMLElement(document: answer.body) else { return [] }
    return responses(root, for: answer.head.url)
      .flatMap(\.children).filter { $0.name == "propstat" && isKnown($0) }
      .flatMap(\.children).filter { $0.name == "prop" }
      .flatMap(\.children)
  }

  /// The one of the resource that was asked for, of several.
  private static func responses(_ root: XMLElement, for url: ResourceURL) -> [XMLElement] {
    let all = root.children.filter { $0.name == "response" }
    guard all.count > 1 else { return all }
    let name = url.path.lastPathName.map { PercentCoding.decoded($0) }
    return all.filter { response in
      response.children.contains {
        let path = String($0.text.trimmingBytes(" \t\r\n"))
        return $0.name == "href" && path.lastPathName.map { PercentCoding.decoded($0) } == name
      }
    }
  }

  /// Whether the properties have values: others are named with 404 (RFC 4918, section 9.1).
  private static func isKnown(_ propstat: XMLElement) -> Bool {
    guard let line = propstat.children.first(where: { $0.name == "status" }) else { return true }
    let words = line.text.byteSplit(separator: " ")
    return words.count < 2 || words[1].hasBytePrefix("2")
  }

  /// Whether the answer to HEAD is a document that the server writes itself, as document stores and
  /// other APIs do with what they are sent: JSON or XML at an address without a file extension.
  static func isDocument(_ head: ResponseHead, of request: UploadRequest) -> Bool {
    let type = head.headers["Content-Type"]?.byteSplit(separator: ";").first ?? ""
    let form = type.trimmingBytes(" \t").lowercased()
    return ["/json", "+json", "/xml", "+xml"].contains { form.hasByteSuffix($0) }
      && !request.url.path.pathParts.name.hasBytes(".")
  }

  /// The server has another number of bytes than it was sent.
  static func mismatch(_ found: Int64, of length: Int64) -> TransferError {
    TransferError(
      .lengthMismatch,
      found < length
        ? "the server took the file, but has \(found) of its \(length) bytes"
        : "the server took the file of \(length) bytes, but has \(found)",
      isRetryable: true)
  }

  /// Whether a cache answered with what it had before (RFC 9111, section 5.1; RFC 9211).
  private static func isOld(_ head: ResponseHead) -> Bool {
    if let age = head.headers["Age"].flatMap({ Int64($0) }), age > 0 { return true }
    let fields = ["Cache-Status", "CF-Cache-Status", "X-Cache", "X-Cache-Status"]
    return fields.flatMap { head.headers.values(of: $0) }.contains { text in
      text.lowercased().unicodeScalars.split { !("a"..."z").contains($0) }
        .contains { $0.elementsEqual("hit".unicodeScalars) }
    }
  }

  /// Whether it is a web page in place of a file of another kind.
  static func isPage(_ head: ResponseHead, of request: UploadRequest) -> Bool {
    guard isHTML(head.headers["Content-Type"]) else { return false }
    let path = request.url.path.lowercased()
    let isExpected = [".html", ".htm", ".xhtml"].contains { path.hasByteSuffix($0) }
    return !isExpected && !isHTML(request.headers["Content-Type"])
  }

  private static func isHTML(_ type: String?) -> Bool {
    type?.lowercased().hasBytePrefix("text/html") ?? false
  }
}

/// Tells two files of a WebDAV server apart (RFC 4918, sections 15.4 to 15.7).
struct StoredVersion: Sendable, Hashable {
  let length: Int64?
  let entityTag: String?
  let modified: String?

  /// From the answer to PROPFIND.
  init(_ answer: UploadAnswer) {
    let properties = StoredLength.properties(answer)
    func text(_ name: String) -> String? {
      properties.first { $0.name == name }.map { String($0.text.trimmingBytes(" \t\r\n")) }
    }
    (entityTag, modified) = (text("getetag"), text("getlastmodified"))
    length = StoredLength.property(answer)
  }

  /// Whether it is not told from a file with this entity tag: the tag may be made of the content.
  func mayEqual(entityTag other: String?) -> Bool {
    guard let entityTag else { return modified == nil }
    return other.map(entityTag.isByteEqual) ?? false
  }
}

extension UploadMessage {
  /// Asks a WebDAV server for the properties of a file, or of a directory without its content.
  static func properties(_ url: ResourceURL, of request: UploadRequest) -> UploadMessage {
    var fields = request.headers
    fields.remove("Content-Type")
    fields.append("Depth", "0")
    fields.append("Content-Type", "application/xml")
    var message = UploadMessage("PROPFIND", url, fields: fields)
    message.body = Array(
      """
      <?xml version="1.0" encoding="utf-8"?>
      <propfind xmlns="DAV:"><prop><getcontentlength/><resourcetype/><getetag/>\
      <getlastmodified/></prop></propfind>
      """.utf8)
    return message
  }

  /// Asks for the length of what is stored there. The upload goes on without an answer.
  static func measure(_ url: ResourceURL, of request: UploadRequest) -> UploadMessage {
    var fields = request.headers
    fields.remove("Content-Type")
    fields.append("Cache-Control", "no-cache")
    var message = UploadMessage("HEAD", url, fields: fields)
    message.isOptional = true
    return message
  }
}
