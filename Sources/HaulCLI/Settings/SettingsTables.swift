/// Tables have no place in the file. The TOML parser does not refuse all that are written wrong: it
/// ends the process at some, so those are refused before it sees them.
extension SettingsFile {
  /// The first line, from 1, with a brace that is not in a text or a comment, or with a table whose
  /// name cannot begin so.
  static func oddTable(in text: String) -> Int? {
    let found = [namelessTable(in: text), brace(in: text)].compactMap { $0 }
    return found.min()
  }

  private static func namelessTable(in text: String) -> Int? {
    let lines = text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false)
    let bracket = UInt8(ascii: "[")
    let found = lines.firstIndex { line in
      let opening = line.drop { $0 <= 0x20 || [0xEF, 0xBB, 0xBF].contains($0) }  // and a mark
      guard opening.first == bracket else { return false }
      var name = opening.dropFirst().drop(while: isBlank)
      if name.first == bracket { name = name.dropFirst().drop(while: isBlank) }
      return !(name.first.map(isKeyStart) ?? false)
    }
    return found.map { $0 + 1 }
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

  /// Of a bare or quoted key, or the end of the brackets, which the parser refuses itself.
  private static func isKeyStart(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: "-_\"']".utf8.contains(byte)
    }
  }

  private static func brace(in text: String) -> Int? {
    var rest = Array(text.utf8)[...]
    var line = 1
    while let byte = rest.first {
      switch byte {
      case UInt8(ascii: "{"), UInt8(ascii: "}"): return line
      case UInt8(ascii: "#"): rest = rest.drop { $0 != newline }
      case UInt8(ascii: "\""), UInt8(ascii: "'"): skipText(&rest, &line)
      default:
        if byte == newline { line += 1 }
        rest.removeFirst()
      }
    }
    return nil
  }

  /// Skips a text with its quotes; of one that does not end, what is left of its line.
  private static func skipText(_ rest: inout ArraySlice<UInt8>, _ line: inout Int) {
    guard let quote = rest.first else { return }
    let isLong = rest.starts(with: [quote, quote, quote])
    let end = Array(repeating: quote, count: isLong ? 3 : 1)
    rest.removeFirst(end.count)
    while let byte = rest.first {
      if byte == newline {
        if !isLong { return }
        line += 1
      }
      if byte == UInt8(ascii: "\\"), quote == UInt8(ascii: "\"") {
        rest.removeFirst()
        if rest.first == newline { continue }
      } else if rest.starts(with: end) {
        rest.removeFirst(end.count)
        if isLong { rest = rest.drop { $0 == quote } }  // two more may belong to the text
        return
      }
      if !rest.isEmpty { rest.removeFirst() }
    }
  }

  private static let newline: UInt8 = 0x0A
}
