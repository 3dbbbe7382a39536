/// A file name in two parts: its stem, and the extension that programs use.
struct FileNameParts: Hashable {
  let stem: String
  /// It has its dot; empty when there is none.
  let pathExtension: String

  /// Splits at the last dot, or at the dot before it in a compressed archive (`.tar.gz`) and a
  /// volume of several (`.part1.rar`, `.7z.001`). A suffix that is long, has a space or follows
  /// nothing is not an extension.
  init(_ name: String) {
    // A dot with a combining mark is another Character, but still a dot to programs.
    let pieces = name.byteSplit(separator: ".", omittingEmptySubsequences: false)
    var count = pieces.count > 1 && Self.isExtension(pieces[pieces.count - 1]) ? 1 : 0
    let beforeTwo = pieces.dropLast(2)
    if count == 1, Self.belongs(pieces[pieces.count - 2], to: pieces[pieces.count - 1]),
      beforeTwo != [""], !beforeTwo.isEmpty
    {
      count = 2
    }
    let kept = pieces.dropLast(count).joined(separator: ".")
    if count > 0, !kept.isEmpty {
      stem = kept
      pathExtension = "." + pieces.suffix(count).joined(separator: ".")
    } else {
      stem = name
      pathExtension = ""
    }
  }

  /// The stem, `infix` and the extension in at most `limit` bytes; the stem is cut between
  /// graphemes.
  func shortened(to limit: Int, inserting infix: String) -> String {
    let room = limit - infix.utf8.count - pathExtension.utf8.count
    return Self.prefix(of: stem, bytes: room) + infix + pathExtension
  }

  private static func prefix(of text: String, bytes limit: Int) -> String {
    guard text.utf8.count > limit else { return text }
    var kept = ""
    var used = 0
    for character in text {
      used += character.utf8.count
      guard used <= limit else { break }
      kept.append(character)
    }
    return kept.isEmpty ? scalarPrefix(of: text, bytes: limit) : kept
  }

  /// For a first grapheme that is longer than a whole name.
  private static func scalarPrefix(of text: String, bytes limit: Int) -> String {
    var kept = String.UnicodeScalarView()
    var used = 0
    for scalar in text.unicodeScalars {
      used += UTF8.width(scalar)
      guard used <= limit else { break }
      kept.append(scalar)
    }
    return String(kept)
  }

  /// Whether programs read the last two pieces of a name as one extension.
  private static func belongs(_ piece: Substring, to last: Substring) -> Bool {
    let name = piece.lowercased()
    if name == "tar" { return true }
    if name.utf8.starts(with: "part".utf8) { return isNumber(name.utf8.dropFirst(4)) }
    return ["7z", "zip", "rar"].contains(name) && last.utf8.count == 3 && isNumber(last.utf8)
  }

  private static func isNumber(_ bytes: some Collection<UInt8>) -> Bool {
    (1...6).contains(bytes.count) && bytes.allSatisfy { (0x30...0x39).contains($0) }
  }

  private static func isExtension(_ piece: Substring) -> Bool {
    (1...18).contains(piece.utf8.count) && !piece.utf8.contains(UInt8(ascii: " "))
  }
}
