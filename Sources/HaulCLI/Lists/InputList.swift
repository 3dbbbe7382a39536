/// A file of addresses: one a line, each with the indented `key=value` lines below it.
package struct InputList: Hashable, Sendable {
  /// An address and what stands below it, as text.
  package struct Entry: Hashable, Sendable {
    package var line: Int
    package var address: String
    package var out: String?
    package var dir: String?
    package var checksums: [Option] = []
    package var headers: [Option] = []
  }

  /// The value of an indented line.
  package struct Option: Hashable, Sendable {
    package let line: Int
    package let text: String
  }

  /// Why a text is no such list.
  package struct Malformation: Error, Hashable, Sendable {
    package let line: Int
    package let message: String
  }

  package private(set) var entries: [Entry] = []

  /// Reads the text of a list. Empty lines and lines that begin with `#` are left out.
  package init(_ text: String) throws(Malformation) {
    var number = 0
    // An array: it is gone through byte by byte several times.
    for line in Array(text.utf8).split(separator: 0x0A, omittingEmptySubsequences: false) {
      number += 1
      let content = Self.trimmed(line)
      guard let first = content.first, first != UInt8(ascii: "#") else { continue }
      let isIndented = line.first.map(Self.isSpace) == true
      if isIndented {
        try takeOption(content, line: number)
      } else {
        try takeAddress(content, line: number)
      }
    }
  }

  private mutating func takeAddress(
    _ content: ArraySlice<UInt8>, line: Int
  ) throws(Malformation) {
    guard !content.contains(0x09) else {
      throw Malformation(
        line: line, message: "mirrors, after a tab, are not yet supported")
    }
    entries.append(Entry(line: line, address: Self.text(content)))
  }

  private mutating func takeOption(
    _ content: ArraySlice<UInt8>, line: Int
  ) throws(Malformation) {
    guard !entries.isEmpty else {
      throw Malformation(line: line, message: "an indented line belongs to an address above it")
    }
    guard let equals = content.firstIndex(of: UInt8(ascii: "=")) else {
      throw Malformation(line: line, message: "an indented line is written key=value")
    }
    let key = Self.text(Self.trimmed(content[..<equals]))
    let value = Self.text(Self.trimmed(content[(equals + 1)...]))
    let last = entries.count - 1
    switch key {
    case "out": try set(\.out, of: last, to: value, key, line)
    case "dir": try set(\.dir, of: last, to: value, key, line)
    case "checksum": entries[last].checksums.append(Option(line: line, text: value))
    case "header": entries[last].headers.append(Option(line: line, text: value))
    case "priority", "group", "id":
      throw Malformation(line: line, message: "\(key) is not yet supported")
    default:
      throw Malformation(
        line: line, message: "unknown key \(key); there are out, dir, checksum and header")
    }
  }

  private mutating func set(
    _ field: WritableKeyPath<Entry, String?>, of entry: Int, to value: String, _ key: String,
    _ line: Int
  ) throws(Malformation) {
    guard entries[entry][keyPath: field] == nil else {
      throw Malformation(line: line, message: "\(key) is given twice for one address")
    }
    guard !value.isEmpty else { throw Malformation(line: line, message: "\(key) has no value") }
    entries[entry][keyPath: field] = value
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

  /// A space, a tab, or the return before a line break.
  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0D
  }
}
