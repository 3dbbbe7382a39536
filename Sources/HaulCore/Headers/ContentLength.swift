/// `Content-Length` (RFC 9110, section 8.6).
package enum ContentLength: Hashable, Sendable {
  /// The response has none.
  case absent
  /// The field is malformed, out of range, or repeated with different values: the body cannot be
  /// framed.
  case invalid
  case bytes(Int64)

  /// Reads the field of a response. Equal values in several lines or in a list count as one, as the
  /// section allows.
  package init(_ headers: HeaderFields) {
    let lines = headers.values(of: "Content-Length")
    // Nearly every response: one line of digits only.
    if lines.count == 1, lines[0].utf8.allSatisfy(FieldScanner.isDigit),
      let length = Int64(lines[0])
    {
      self = .bytes(length)
      return
    }
    let values = lines.flatMap { $0.byteSplit(separator: ",", omittingEmptySubsequences: false) }
    guard let first = values.first else {
      self = .absent
      return
    }
    let lengths = values.map { Self.length(String($0)) }
    if let length = Self.length(String(first)), lengths.allSatisfy({ $0 == length }) {
      self = .bytes(length)
    } else {
      self = .invalid
    }
  }

  /// One value in bytes: digits, after which careless servers write the unit or a semicolon. Nil
  /// for a sign, another base, another unit, or more than `Int64.max`.
  package static func length(_ text: String) -> Int64? {
    var scanner = FieldScanner(text)
    scanner.skipWhitespace()
    guard let length = scanner.number() else { return nil }
    scanner.skipWhitespace()
    _ = scanner.take("bytes", ignoringCase: true)
    scanner.skipWhitespace()
    _ = scanner.take(";")
    scanner.skipWhitespace()
    return scanner.isAtEnd ? length : nil
  }
}
