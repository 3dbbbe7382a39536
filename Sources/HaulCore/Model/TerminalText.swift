/// Untrusted text, made safe for a terminal.
package enum TerminalText {
  /// Escapes everything that could move the cursor, start a sequence, or change the reading order:
  /// C0, DEL, C1, line and paragraph separators, and invisible formatting. It keeps the two joiners
  /// that scripts need.
  package static func escaped(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
    var result = ""
    for scalar in text.unicodeScalars {
      if isUnsafe(scalar) {
        result += escape(scalar)
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// The number of terminal cells of escaped text; slightly too high where terminals differ (joined
  /// emoji).
  package static func width(_ text: String) -> Int {
    text.utf8.allSatisfy { $0 < 0x80 }
      ? text.utf8.count : text.unicodeScalars.reduce(0) { $0 + width(of: $1) }
  }

  /// Escaped text in at most `cells` cells, cut between graphemes; a mark replaces the rest.
  package static func cut(_ text: String, to cells: Int, mark: Character = "…") -> String {
    guard width(text) > cells else { return text }
    guard cells > 0 else { return "" }
    return prefix(text, cells - 1) + String(mark)
  }

  /// The same for a name, whose end says what it is: the mark replaces its middle.
  package static func cutName(_ name: String, to cells: Int, mark: Character = "…") -> String {
    guard width(name) > cells, cells > 8 else { return cut(name, to: cells, mark: mark) }
    let end = (cells - 1) / 3
    let last = prefix(name.reversed(), end).reversed()
    return prefix(name, cells - 1 - end) + String(mark) + String(last)
  }

  /// The first graphemes that fit.
  private static func prefix(_ text: some Sequence<Character>, _ cells: Int) -> String {
    var (kept, used) = ("", 0)
    for character in text {
      used += width(String(character))
      guard used <= cells else { break }
      kept.append(character)
    }
    return kept
  }

  private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
    if (0x20..<0x7F).contains(scalar.value) { return false }
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: return true
    case .format: return scalar != "\u{200C}" && scalar != "\u{200D}"
    default: return false
    }
  }

  private static func escape(_ scalar: Unicode.Scalar) -> String {
    switch scalar {
    case "\n": return "\\n"
    case "\r": return "\\r"
    case "\t": return "\\t"
    default:
      let digits = String(scalar.value, radix: 16)
      return scalar.value < 0x80
        ? "\\x" + (digits.count == 1 ? "0" + digits : digits) : "\\u{\(digits)}"
    }
  }
}

extension TerminalText {
  /// The cells of one scalar: 0 for combining ones, 2 for East Asian Width `W` and `F` (UAX #11)
  /// and emoji.
  private static func width(of scalar: Unicode.Scalar) -> Int {
    // The selector requests the wide form of a narrow character.
    if scalar == "\u{FE0F}" { return 1 }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format, .control: return 0
    default: break
    }
    // Vowels and finals of decomposed Hangul combine with the syllable before.
    if (0x1160...0x11FF).contains(scalar.value) { return 0 }
    let isWide =
      scalar.properties.isEmojiPresentation || wide.contains { $0.contains(scalar.value) }
    return isWide ? 2 : 1
  }

  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF,
    0x4E00...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19,
    0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF,
    0x1F200...0x1F2FF, 0x20000...0x3FFFD,
  ]
}
