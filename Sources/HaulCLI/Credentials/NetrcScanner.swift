/// Splits a netrc file into words, with lines, quotes and comments.
struct NetrcScanner {
  private var rest: Substring.UTF8View
  private var line = 1

  init(_ text: String) { rest = text[...].utf8 }

  /// The next keyword and its line; nil at the end. Skips comments.
  mutating func keyword() throws(ParseError) -> (word: String, line: Int)? {
    skipSpace()
    while rest.first == UInt8(ascii: "#") {
      while let byte = rest.first, byte != newline { advance(byte) }
      skipSpace()
    }
    guard !rest.isEmpty else { return nil }
    let start = line
    return (try word(), start)
  }

  /// The value after a keyword.
  mutating func value(of keyword: String, line start: Int) throws(ParseError) -> String {
    skipSpace()
    guard !rest.isEmpty else {
      throw ParseError(line: start, message: "\(keyword) has no value")
    }
    return try word()
  }

  /// A macro ends with an empty line.
  mutating func skipMacro() {
    var lineIsEmpty = false
    while let byte = rest.first {
      advance(byte)
      if byte == newline {
        if lineIsEmpty { return }
        lineIsEmpty = true
      } else if byte != UInt8(ascii: "\r") {
        lineIsEmpty = false
      }
    }
  }

  private mutating func word() throws(ParseError) -> String {
    guard rest.first != UInt8(ascii: "\"") else { return try quoted() }
    let word = rest.prefix { !Self.isSpace($0) }
    rest = rest[word.endIndex...]
    return String(decoding: word, as: UTF8.self)
  }

  private mutating func quoted() throws(ParseError) -> String {
    let start = line
    advance(UInt8(ascii: "\""))
    var bytes: [UInt8] = []
    while let byte = rest.first {
      advance(byte)
      switch byte {
      case UInt8(ascii: "\""):
        return String(decoding: bytes, as: UTF8.self)
      case UInt8(ascii: "\\"):
        guard let escaped = rest.first else { break }
        advance(escaped)
        bytes.append(Self.escapes[escaped] ?? escaped)
      default:
        bytes.append(byte)
      }
    }
    throw ParseError(line: start, message: "a quote is not closed")
  }

  private mutating func skipSpace() {
    while let byte = rest.first, Self.isSpace(byte) { advance(byte) }
  }

  private mutating func advance(_ byte: UInt8) {
    if byte == newline { line += 1 }
    rest.removeFirst()
  }

  private let newline = UInt8(ascii: "\n")

  private static let escapes: [UInt8: UInt8] = [
    UInt8(ascii: "n"): 0x0A, UInt8(ascii: "r"): 0x0D, UInt8(ascii: "t"): 0x09,
  ]

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || (0x09...0x0D).contains(byte)
  }
}
