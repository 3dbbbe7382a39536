/// The output of haul to a terminal as tokens; any other sequence is an error.
enum TerminalToken: Hashable {
  case text(Character)
  case carriageReturn
  case lineFeed
  /// CSI n A.
  case up(Int)
  /// CSI n C.
  case right(Int)
  /// CSI J.
  case clearBelow
  /// CSI K.
  case clearLine
  /// SGR: colours.
  case style

  struct Refused: Error, CustomStringConvertible {
    let description: String
  }

  /// - Throws: at the first byte that is neither printable UTF-8 nor one of these sequences.
  static func tokens(_ bytes: some Sequence<UInt8>) throws(Refused) -> [TerminalToken] {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw Refused(description: "this is not UTF-8")
    }
    var tokens: [TerminalToken] = []
    var scalars = text.unicodeScalars[...]
    while let scalar = scalars.popFirst() {
      switch scalar {
      case "\r": tokens.append(.carriageReturn)
      case "\n": tokens.append(.lineFeed)
      case "\u{1B}": tokens.append(try sequence(&scalars))
      case _ where isPrintable(scalar): append(scalar, to: &tokens)
      default:
        throw Refused(
          description: "U+\(String(scalar.value, radix: 16)) after \(tokens.suffix(20))")
      }
    }
    return tokens
  }

  private static func sequence(_ scalars: inout Substring.UnicodeScalarView) throws(Refused)
    -> TerminalToken
  {
    guard scalars.popFirst() == "[" else { throw Refused(description: "ESC without [") }
    var digits = ""
    while let scalar = scalars.popFirst() {
      switch scalar {
      case "0"..."9": digits.unicodeScalars.append(scalar)
      case "A" where (Int(digits) ?? 0) > 0: return .up(Int(digits) ?? 0)
      case "C" where (Int(digits) ?? 0) > 0: return .right(Int(digits) ?? 0)
      case "J" where digits.isEmpty: return .clearBelow
      case "K" where digits.isEmpty: return .clearLine
      case "m" where ["0", "32"].contains(digits): return .style
      default: throw Refused(description: "CSI \(digits)\(scalar)")
      }
    }
    throw Refused(description: "CSI without an end")
  }

  /// By grapheme: a combining mark belongs to the cell of its base character.
  private static func append(_ scalar: Unicode.Scalar, to tokens: inout [TerminalToken]) {
    if case .text(let last) = tokens.last {
      let joined = String(last) + String(scalar)
      if joined.count == 1, let character = joined.first {
        tokens[tokens.count - 1] = .text(character)
        return
      }
    }
    tokens.append(.text(Character(scalar)))
  }

  private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
    case .format: scalar == "\u{200D}"
    default: true
    }
  }
}
