/// A cursor over the bytes of one field value (RFC 9110, section 5.6).
///
/// It works on bytes: Swift characters would compare canonically equal text as the same.
package struct FieldScanner {
  private let bytes: [UInt8]
  private var position = 0

  package init(_ text: some StringProtocol) { bytes = Array(text.utf8) }

  package var isAtEnd: Bool { position == bytes.count }
  var next: UInt8? { isAtEnd ? nil : bytes[position] }

  /// Takes `literal` when it comes next.
  package mutating func take(_ literal: StaticString, ignoringCase: Bool = false) -> Bool {
    let count = literal.utf8CodeUnitCount
    guard bytes.count - position >= count else { return false }
    for index in 0..<count {
      let (found, wanted) = (bytes[position + index], literal.utf8Start[index])
      guard
        found == wanted || ignoringCase && Self.lowercased(found) == Self.lowercased(wanted)
      else { return false }
    }
    position += count
    return true
  }

  private mutating func takeByte() -> UInt8? {
    guard let next else { return nil }
    position += 1
    return next
  }

  /// Skips optional whitespace: spaces and tabs (section 5.6.3).
  package mutating func skipWhitespace() {
    while let next, Self.isWhitespace(next) { position += 1 }
  }

  /// Takes the longest run of bytes that satisfy `belongs`; it may be empty.
  package mutating func takeRun(where belongs: (UInt8) -> Bool) -> ArraySlice<UInt8> {
    let start = position
    while let next, belongs(next) { position += 1 }
    return bytes[start..<position]
  }

  /// Takes a token (section 5.6.2); nil when there is none.
  package mutating func token() -> String? {
    let run = takeRun(where: Self.isTokenCharacter)
    return run.isEmpty ? nil : String(decoding: run, as: UTF8.self)
  }

  /// Takes one or more digits as a number; nil when there is none or it passes `Int64.max`.
  mutating func number() -> Int64? {
    Self.decimal(takeRun(where: Self.isDigit))
  }

  /// Takes exactly `count` digits as a number; nil when there are fewer or more.
  mutating func number(digits count: Int) -> Int64? {
    let run = takeRun(where: Self.isDigit)
    return run.count == count ? Self.decimal(run) : nil
  }

  /// Takes a quoted string and undoes its escapes (section 5.6.4); nil when it is not well formed.
  package mutating func quotedString() -> String? {
    guard take("\"") else { return nil }
    var bytes: [UInt8] = []
    while let byte = takeByte() {
      switch byte {
      case UInt8(ascii: "\""):
        return String(decoding: bytes, as: UTF8.self)
      case UInt8(ascii: "\\"):
        guard let escaped = takeByte(), Self.isText(escaped) else { return nil }
        bytes.append(escaped)
      case _ where Self.isText(byte):
        bytes.append(byte)
      default:
        return nil
      }
    }
    return nil
  }

  static func isWhitespace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

  package static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

  static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(lowercased(byte)) }

  package static func isTokenCharacter(_ byte: UInt8) -> Bool {
    isDigit(byte) || isLetter(byte) || tokenSymbols.contains(byte)
  }

  /// The value of `digits`, ASCII; nil when empty or greater than `Int64.max`.
  package static func decimal(_ digits: some Collection<UInt8>) -> Int64? {
    guard !digits.isEmpty else { return nil }
    var value: Int64 = 0
    for digit in digits {
      let (tenfold, overflow) = value.multipliedReportingOverflow(by: 10)
      let (sum, carry) = tenfold.addingReportingOverflow(Int64(digit - 0x30))
      guard !overflow, !carry else { return nil }
      value = sum
    }
    return value
  }

  private static let tokenSymbols = Set("!#$%&'*+-.^_`|~".utf8)

  /// A tab, a space, a visible character or a byte above ASCII.
  private static func isText(_ byte: UInt8) -> Bool {
    byte == 0x09 || (byte >= 0x20 && byte != 0x7F)
  }

  static func lowercased(_ byte: UInt8) -> UInt8 {
    (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
  }
}
