import HaulCore

/// The rows of a text with columns, or of a piece of one: comma-separated (RFC 4180) or
/// tab-separated values.
struct TableText {
  /// A row that has a value, and the line where it begins.
  typealias Row = (line: Int, values: [String])

  private var rest: ArraySlice<UInt8>
  /// The number of the next line.
  private(set) var line: Int
  private let separator: UInt8
  /// Whether a value may be in double quotes. Tab-separated values have none.
  private let hasQuotes: Bool
  /// Whether nothing follows it: then its last row ends with it.
  private let isLast: Bool

  init(_ text: String, separator: UInt8, from line: Int, isLast: Bool) {
    rest = Array(text.utf8)[...]
    if line == 1, rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
    (self.separator, self.line, self.isLast) = (separator, line, isLast)
    hasQuotes = separator == UInt8(ascii: ",")
  }

  /// How many bytes were read: up to the end of a row.
  var used: Int { rest.startIndex }

  /// The next row that is not empty; nil at the end, and for a row that may go on in what follows.
  mutating func next() throws(ParseError) -> Row? {
    while !rest.isEmpty {
      let before = self
      let row: Row
      do {
        row = try self.row()
        if isLast || !rest.isEmpty {
          if row.values != [""] { return row }
          continue
        }
      } catch {
        if isLast || !rest.isEmpty { throw error }
      }
      self = before
      return nil
    }
    return nil
  }

  private mutating func row() throws(ParseError) -> Row {
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
  private mutating func value() throws(ParseError) -> String {
    if hasQuotes, rest.first == Self.quote { return try quoted() }
    let end = rest.firstIndex { $0 == separator || $0 == 0x0A || $0 == 0x0D } ?? rest.endIndex
    defer { rest = rest[end...] }
    return String(decoding: rest[..<end], as: UTF8.self)
  }

  private mutating func quoted() throws(ParseError) -> String {
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
    throw ParseError(
      line: first, message: "a value that begins with a quote has no quote at its end")
  }

  private static let quote = UInt8(ascii: "\"")
}
