/// An entity tag (RFC 9110, section 8.8.3).
package struct EntityTag: Hashable, Sendable {
  /// The bytes between the quotes. Not text: two tags are equal only byte by byte.
  package let opaque: [UInt8]
  /// Also true if bytes of it were lost: an equal tag may have been another one.
  package let isWeak: Bool

  /// Reads `"…"` or `W/"…"`; nil for anything else, an unquoted tag included.
  package init?(_ text: String) {
    var scanner = FieldScanner(text)
    scanner.skipWhitespace()
    isWeak = scanner.take("W/") || text.unicodeScalars.contains("\u{FFFD}")
    guard scanner.take("\"") else { return nil }
    opaque = Array(scanner.takeRun { $0 > 0x20 && $0 != 0x22 && $0 != 0x7F })
    guard scanner.take("\"") else { return nil }
    scanner.skipWhitespace()
    guard scanner.isAtEnd else { return nil }
  }

  /// Strong comparison (section 8.8.3.2): both strong, same bytes.
  package func stronglyMatches(_ other: EntityTag) -> Bool {
    !isWeak && !other.isWeak && opaque == other.opaque
  }

  /// Weak comparison (section 8.8.3.2): same bytes.
  package func weaklyMatches(_ other: EntityTag) -> Bool { opaque == other.opaque }
}
