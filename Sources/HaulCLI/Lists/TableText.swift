import HaulCore

/// The rows of a text with columns: comma-separated (RFC 4180) or tab-separated values.
struct TableText {
  /// A row that has a value, and the line where it begins.
  typealias Row = (line: Int, values: [String])

  private var rest: ArraySlice<UInt8>
  private var line = 1
  private let separator: UInt8
  /// Whether a value may be in double quotes. Tab-separated values have none.
  private let hasQuotes: Bool

  init(_ text: String, separator: UInt8) {
    rest = Array(text.utf8)[...]
    if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
    self.separator = separator
    hasQuotes = separator == UInt8(ascii: ",")
  }

  /// The next row that is not empty; nil at the end.
  mutating func next() throws(TextLine.ParseError) -> Row? {
    while !rest.isEmpty {
      let row = try row()
      if row.values != [""] { return row }
    }
    return nil
  }

  private mutating func row() throws(TextLine.ParseError) -> Row {
    let first = line
    var values: [String] = []
    while true {
      values.append(try value())
      guard let end = rest.popFirst() else { break }
      if end == separator { continue }
      if end == 0x0D, rest.first == 0x0A { rest.removeFirst() }
      line += 1
      break
    }
    return (first, values)
  }

  /// Ends before a separator, a line break or the end of the text.
  private mutating func value() throws(TextLine.ParseError) -> String {
    if hasQuotes, rest.first == Self.quote { return try quoted() }
    let end = rest.firstIndex { $0 == separator || $0 == 0x0A || $0 == 0x0D } ?? rest.endIndex
    defer { rest = rest[end...] }
    return String(decoding: rest[..<end], as: UTF8.self)
  }

  private mutating func quoted() throws(TextLine.ParseError) -> String {
    let first = line
    rest.removeFirst()
    var value: [UInt8] = []
    while let byte = rest.popFirst() {
      if byte == 0x0A { line += 1 }
      guard byte == Self.quote else {
        value.append(byte)
        continue
      }
      if rest.first == Self.quote {
        value.append(byte)
        rest.removeFirst()
        continue
      }
      guard rest.first.map({ $0 == separator || $0 == 0x0A || $0 == 0x0D }) ?? true else { break }
      return String(decoding: value, as: UTF8.self)
    }
    throw TextLine.ParseError(
      line: first, message: "a value that begins with a quote has no quote at its end")
  }

  private static let quote = UInt8(ascii: "\"")
}
