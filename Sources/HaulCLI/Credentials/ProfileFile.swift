import HaulCore

/// A file of the AWS tools: sections of `name = value`. A name without a value begins a group; its
/// indented members are named `group.member` here.
struct ProfileFile: Hashable, Sendable {
  private var sections: [String: [String: String]] = [:]

  init(_ text: String) throws(ParseError) {
    var section: String?
    var group: String?
    for (number, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      .enumerated()
    {
      let content = Self.trimmed(line)
      guard let first = content.first, first != "#", first != ";" else { continue }
      if first == "[" {
        guard let end = content.firstByteIndex(of: "]") else {
          throw ParseError(line: number + 1, message: "the name of a section has no end")
        }
        section = Self.unquoted(content[content.utf8.index(after: content.startIndex)..<end])
        group = nil
        continue
      }
      guard let section, let equals = content.firstByteIndex(of: "=") else {
        throw ParseError(line: number + 1, message: "it is not a section, and not name = value")
      }
      let name = Self.trimmed(content[..<equals]).lowercased()
      let value = Self.trimmed(content[content.utf8.index(after: equals)...])
      let isMember = line.first?.isWhitespace == true
      if !isMember { group = value.isEmpty ? name : nil }
      let prefix = isMember ? group.map { "\($0)." } ?? "" : ""
      sections[section, default: [:]][prefix + name] = String(value)
    }
  }

  /// The values of a section; nil if there is none.
  subscript(section: String) -> [String: String]? { sections[section] }

  /// The words of a section's name. The AWS tools quote as a shell does: `profile 'a b'`.
  private static func unquoted(_ name: Substring) -> String {
    var bytes: [UInt8] = []
    var quote: UInt8?
    for byte in name.trimmingBytes(" \t").utf8 {
      if let open = quote {
        if byte == open { quote = nil } else { bytes.append(byte) }
      } else if byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\"") {
        quote = byte
      } else if byte != UInt8(ascii: " "), byte != UInt8(ascii: "\t") {
        bytes.append(byte)
      } else if bytes.last != UInt8(ascii: " ") {
        bytes.append(UInt8(ascii: " "))
      }
    }
    // An apostrophe alone is a part of the name.
    guard quote == nil else { return name.byteSplit(separator: " ").joined(separator: " ") }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func trimmed(_ text: Substring) -> Substring {
    var rest = text.drop { $0.isWhitespace }
    while rest.last?.isWhitespace == true { rest.removeLast() }
    return rest
  }
}
