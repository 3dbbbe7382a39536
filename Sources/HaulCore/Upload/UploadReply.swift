/// What a server says about a file that it has taken with PUT or POST. Many services tell the
/// address of the file in no other place.
public struct UploadReply: Sendable, Hashable, Codable {
  /// The `Location` of the answer, as a whole address (RFC 9110, section 10.2.2).
  public var location: String?
  /// The body without the space around it, if it is a text of at most 16 KiB, has nothing that is
  /// not shown as it is, and is no web page.
  public var text: String?

  /// An answer of a server, for fakes and tests.
  public init(location: String? = nil, text: String? = nil) {
    (self.location, self.text) = (location, text)
  }

  /// Nil if the answer says nothing, or only repeats what it was sent in confidence.
  init?(_ answer: UploadAnswer, of request: UploadRequest) {
    let secrets = ShownText.credentials(of: request)
    location = answer.head.headers["Location"]
      .flatMap { try? answer.head.url.named(by: $0).absoluteString }
    text = Self.text(in: answer)
    if let words = text, secrets.contains(where: { words.hasBytes($0) }) { text = nil }
    if let words = location, secrets.contains(where: { words.hasBytes($0) }) { location = nil }
    if location == nil, text == nil { return nil }
  }

  private static let longest = 16 << 10

  /// What is cut off or encoded says nothing that could be relied on.
  private static func text(in answer: UploadAnswer) -> String? {
    guard answer.isWhole, answer.head.contentCoding == nil, answer.body.count <= longest,
      let text = String(validating: answer.body, as: UTF8.self),
      text.byteSplit(whereSeparator: { "\t\r\n".utf8.contains($0) })
        .allSatisfy({ TerminalText.escaped(String($0)) == $0 })
    else { return nil }
    let words = text.trimmingBytes(" \t\r\n")
    // Small services send a mere address with the type of a page.
    let isPage =
      StoredLength.isHTML(answer.head.headers["Content-Type"]) && words.hasBytePrefix("<")
    return words.isEmpty || isPage ? nil : String(words)
  }
}
