import FoundationEssentials

/// Text from outside, as a message may have it.
enum ShownText {
  /// One line of at most so many characters, without control characters.
  static func line(_ text: String, atMost count: Int) -> String {
    let shown = text.unicodeScalars.map { scalar -> UnicodeScalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned: " "
      default: scalar
      }
    }
    let words = String(String.UnicodeScalarView(shown)).byteSplit { $0 == UInt8(ascii: " ") }
    return String(words.joined(separator: " ").unicodeScalars.prefix(count))
  }

  /// Why a server refuses a request (4xx and 5xx), in its own words: the first line of a text, or
  /// the message of a JSON object or an XML document. Nil if there is none; a page is for browsers.
  static func reason(in answer: UploadAnswer, of request: UploadRequest) -> String? {
    let head = answer.head
    guard (400..<600).contains(head.status), head.contentCoding == nil,
      let type = head.headers["Content-Type"]?.prefix(beforeAnyOf: ";").trimmingBytes(" \t"),
      let words = words(Array(answer.body.prefix(longestBody)), type.lowercased())
    else { return nil }
    return shown(words, of: request, at: head.url)
  }

  /// A server's words, for the middle of a message; nil for none, or if they repeat what it was
  /// sent.
  static func shown(_ words: String, of request: UploadRequest, at url: ResourceURL) -> String? {
    secrets(of: request, at: url).contains(where: { words.hasBytes($0) }) ? nil : shown(words)
  }

  /// The words of a server whose answer has no secrets, likewise.
  static func shown(_ words: String) -> String? {
    // In a message, a semicolon separates fact and advice.
    let shown = line(words, atMost: 200).replacingBytes(";", with: ",")
    return shown.isEmpty || shown.hasBytePrefix("<") ? nil : shown
  }

  private static let longestBody = 64 << 10

  /// What may be a secret of the request: values of its address and its fields, a password in them,
  /// and the address that the server has given to the upload.
  private static func secrets(of request: UploadRequest, at url: ResourceURL) -> [String] {
    var values = credentials(of: request)
    for url in [url, request.url] {
      values += url.query.map { ["?\($0)"] } ?? []
      values += url.credentials.map { [$0.user, $0.password] } ?? []
      for part in url.pathAndQuery.byteSplit(whereSeparator: { "?&;".utf8.contains($0) })
        .dropFirst()
      {
        let value = part.byteSplit(separator: "=", maxSplits: 1).last ?? part
        values += [String(value), PercentCoding.text(value)]
      }
    }
    if url != request.url { values.append(url.path) }
    return values.filter { $0.utf8.count >= 4 }
  }

  /// The words of the request's fields, but those about content, the passwords in them and in its
  /// address, and the values of its query that are not shown.
  static func credentials(of request: UploadRequest) -> [String] {
    let fields = request.headers.filter { field in
      let name = field.name.lowercased()
      return !["content-", "accept", "user-agent"].contains { name.hasBytePrefix($0) }
    }
    let words = fields.flatMap { $0.value.byteSplit { " ;,".utf8.contains($0) } }
    // A user name and a password (RFC 7617).
    let pairs = words.compactMap { Data(base64Encoded: String($0)) }
      .map { String(decoding: $0, as: UTF8.self) }
    let values = (words + pairs.map { $0[...] }).flatMap { $0.byteSplit { "=:".utf8.contains($0) } }
    let password = request.url.credentials.map { [$0.password] } ?? []
    let query = QueryItem.all(of: request.url.query ?? "").compactMap(\.secret)
    return (values.map(String.init) + password + query + query.map(PercentCoding.text))
      .filter { $0.utf8.count >= 4 && !["basic", "bearer"].contains($0.lowercased()) }
  }

  private static func words(_ body: [UInt8], _ mediaType: String) -> String? {
    switch mediaType {
    case "text/plain":
      let lines = body.split(maxSplits: 1) { $0 == 0x0A || $0 == 0x0D }
      return lines.first.map { String(decoding: $0, as: UTF8.self) }
    case "application/json", "application/problem+json":
      return try? JSONDecoder().decode(Refusal.self, from: Data(body)).words
    case "application/xml", "text/xml":
      // sabre/dav's error, or that of an S3 store.
      guard let root = XMLElement(document: body), ["error", "Error"].contains(root.name) else {
        return nil
      }
      return root["message"] ?? root["Message"]
    default: return nil
    }
  }

  /// The names that are usual for it, and those of RFC 9457, section 3.1.
  private struct Refusal: Decodable {
    let words: String?

    enum CodingKeys: String, CodingKey, CaseIterable { case message, error, detail, title }

    init(from decoder: any Decoder) throws {
      let object = try decoder.container(keyedBy: CodingKeys.self)
      let texts = CodingKeys.allCases.compactMap { try? object.decode(String.self, forKey: $0) }
      words = texts.first { !$0.isEmpty }
    }
  }
}
