/// A line of a list or of the configuration file, without surrounding spaces.
package struct TextLine {
  /// Counted from 1.
  let number: Int
  let isIndented: Bool
  let content: ArraySlice<UInt8>

  /// Passes the lines to `take` in order, except empty lines and lines that begin with `#`.
  /// - Parameter first: the number of the first line.
  /// - Returns: the number of the last line, which is empty if the text ends with a line break.
  @discardableResult
  static func read(
    _ text: String, from first: Int = 1, _ take: (TextLine) throws(ParseError) -> Void
  ) throws(ParseError) -> Int {
    var number = first - 1
    // An array, because its bytes are read several times.
    for line in Array(text.utf8).split(separator: 0x0A, omittingEmptySubsequences: false) {
      number += 1
      let content = trimmed(line)
      guard let first = content.first, first != UInt8(ascii: "#") else { continue }
      guard !content.contains(0), !content.contains(0x0D) else {
        throw ParseError(line: number, message: "the line contains a NUL or a carriage return")
      }
      let isIndented = line.first.map(isSpace) == true
      try take(TextLine(number: number, isIndented: isIndented, content: content))
    }
    return number
  }

  var text: String { Self.text(content) }

  func parseError(_ message: String) -> ParseError {
    ParseError(line: number, message: message)
  }

  /// The text before and after the first `=`; nil without one.
  var option: (key: String, value: String)? {
    guard let equals = content.firstIndex(of: UInt8(ascii: "=")) else { return nil }
    return (
      Self.text(Self.trimmed(content[..<equals])), Self.text(Self.trimmed(content[(equals + 1)...]))
    )
  }

  private static func text(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: bytes, as: UTF8.self)
  }

  private static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var line = line
    while let first = line.first, isSpace(first) { line.removeFirst() }
    while let last = line.last, isSpace(last) { line.removeLast() }
    return line
  }

  /// A space, a tab, or the carriage return before a line break.
  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0D
  }
}
