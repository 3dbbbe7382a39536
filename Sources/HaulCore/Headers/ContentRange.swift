/// `Content-Range`: which bytes of the whole a response holds (RFC 9110, section 14.4).
package struct ContentRange: Hashable, Sendable {
  /// The bytes in the body; nil when the range could not be satisfied (`bytes */10`).
  package let range: ByteRange?
  /// The length of the whole file in bytes; nil if the server does not know it.
  package let total: Int64?

  /// Reads one value; nil unless it is `bytes FIRST-LAST/TOTAL`, `bytes FIRST-LAST/*` or `bytes
  /// */TOTAL` with FIRST ≤ LAST < TOTAL. The unit compares without case; only optional whitespace
  /// may surround the value.
  package init?(_ text: String) {
    var scanner = FieldScanner(text)
    scanner.skipWhitespace()
    guard scanner.take("bytes ", ignoringCase: true) else { return nil }
    if scanner.take("*/") {
      guard let length = scanner.number() else { return nil }
      range = nil
      total = length
    } else {
      guard let parts = Self.satisfied(&scanner) else { return nil }
      range = parts.range
      total = parts.total
    }
    scanner.skipWhitespace()
    guard scanner.isAtEnd else { return nil }
  }

  /// Reads the field of a response; nil if it is missing, malformed or repeated.
  package init?(_ headers: HeaderFields) {
    let values = headers.values(of: "Content-Range")
    guard values.count == 1, let only = values.first else { return nil }
    self.init(only)
  }

  private static func satisfied(_ scanner: inout FieldScanner) -> (range: ByteRange, total: Int64?)?
  {
    // The end of the half-open range must fit too, so the greatest last byte is Int64.max - 1.
    guard let first = scanner.number(), scanner.take("-"), let last = scanner.number(),
      scanner.take("/"), first <= last, last < Int64.max
    else { return nil }
    if scanner.take("*") { return (first..<last + 1, nil) }
    guard let total = scanner.number(), last < total else { return nil }
    return (first..<last + 1, total)
  }
}
