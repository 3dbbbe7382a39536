/// What a server says about a file that it has taken with PUT or POST. Many services tell the
/// address of the file in no other place.
package struct UploadReply: Sendable, Hashable, Codable {
  /// The `Location` of the answer, as a whole address (RFC 9110, section 10.2.2).
  package var location: String?
  /// The body without the space around it, if it is a text of at most 16 KiB, has nothing that is
  /// not shown as it is, and is no web page.
  package var text: String?

  package init(location: String? = nil, text: String? = nil) {
    (self.location, self.text) = (location, text)
  }

  /// Nil if the answer says nothing, or only repeats what it was sent in confidence.
  init?(_ answer: UploadAnswer, of request: UploadRequest) {
    let secrets = ShownText.credentials(of: request).map { $0.lowercased() }
    func repeatsSecret(_ words: String) -> Bool {
      let forms = Self.forms(of: words)
      return secrets.contains { secret in forms.contains { $0.hasBytes(secret) } }
    }
    location = answer.head.headers["Location"]
      .flatMap { try? answer.head.url.named(by: $0).absoluteString }
    // What follows 303 is about the page that it names (RFC 9110, section 15.4.4).
    text = answer.head.status < 300 ? Self.text(in: answer) : nil
    if let words = text, repeatsSecret(words) { text = nil }
    if let words = location, repeatsSecret(words) { location = nil }
    if location == nil, text == nil { return nil }
  }

  private static let longest = 16 << 10

  /// What is cut off or encoded says nothing that could be relied on.
  private static func text(in answer: UploadAnswer) -> String? {
    guard answer.isWhole, answer.head.contentCoding == nil, answer.body.count <= longest,
      let body = String(validating: answer.body, as: UTF8.self)
    else { return nil }
    let lines = body.byteSplit(separator: "\n", omittingEmptySubsequences: false)
    let text = lines.map { $0.dropping(byteSuffix: "\r") ?? $0 }.joined(separator: "\n")
      .trimmingBytes(" \t\n")
    let isShownAsItIs = text.byteSplit(whereSeparator: { "\t\n".utf8.contains($0) })
      .allSatisfy { TerminalText.escaped(String($0)) == $0 }
    let isPage = isPage(text, answer.head.headers["Content-Type"]?.lowercased() ?? "")
    return text.isEmpty || !isShownAsItIs || isPage ? nil : String(text)
  }

  /// Small services send a mere address with the type of a page.
  private static func isPage(_ text: Substring, _ type: String) -> Bool {
    guard text.hasBytePrefix("<") else { return false }
    let start = text.prefix(200).lowercased()
    return ["text/html", "application/xhtml"].contains { type.hasBytePrefix($0) }
      || start.hasBytes("<!doctype html") || start.hasBytes("<html")
  }

  /// The words in lower case, and what they mean in JSON, in an address and in a page.
  private static func forms(of words: String) -> [String] {
    let page = [
      ("quot;", "\""), ("lt;", "<"), ("gt;", ">"), ("#39;", "'"), ("amp;", "&"),
    ]
    return [
      words, PercentCoding.text(words), decoded(words, after: "&", page),
      decoded(words, after: "\\", [("/", "/"), ("\"", "\""), ("\\", "\\")]),
    ].map { $0.lowercased() }
  }

  /// The text with what a mark and one of these names mean; `\u` and four digits is a character.
  private static func decoded(
    _ text: String, after mark: Unicode.Scalar, _ names: [(name: String, meaning: String)]
  ) -> String {
    let parts = text.byteSplit(separator: mark, omittingEmptySubsequences: false)
    return parts.dropFirst().reduce(into: String(parts[0])) { text, part in
      if let known = names.first(where: { part.hasBytePrefix($0.name) }) {
        text += known.meaning + part.dropFirst(known.name.count)
      } else if mark == "\\", part.hasBytePrefix("u"), part.utf8.count >= 5,
        let value = UInt32(part.dropFirst().prefix(4), radix: 16),
        let scalar = Unicode.Scalar(value)
      {
        text += String(scalar) + part.dropFirst(5)
      } else {
        text += "\(mark)\(part)"
      }
    }
  }
}
