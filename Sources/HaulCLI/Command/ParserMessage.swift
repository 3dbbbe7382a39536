import HaulCore

/// Rewrites the parser's errors in haul's style: one line that says what is wrong.
enum ParserMessage {
  /// - Parameter text: the parser's message, which may have several lines.
  static func line(_ text: String) -> String {
    rewritten(text.byteSplit(separator: "\n").joined(separator: " "))
  }

  private static func rewritten(_ text: String) -> String {
    if let found = text.wholeMatch(of: /Unknown option '(.+?)'(?:\. Did you mean '(.+)'\?)?/) {
      let guess = found.2.flatMap { guess in
        EditDistance.distance(String(found.1), String(guess)) <= 2
          ? "; did you mean \(guess)?" : nil
      }
      return "unknown option \(found.1)\(guess ?? "")"
    }
    if let found = text.wholeMatch(of: /The value '(.*)' is invalid for '(.+?)'(?:: (.+)|\. (.+))?/)
    {
      let reason = (found.3 ?? found.4).map { ": \(choices(String($0)))" } ?? " is not understood"
      return "\(name(found.2)) '\(found.1)'\(reason)"
    }
    if let found = text.wholeMatch(of: /Missing value for '(.+)'/) {
      return "\(name(found.1)): a value is missing; one that begins with - is written "
        + "\(name(found.1))=-…"
    }
    // The parser may append the option's help.
    if let found = text.firstMatch(of: /^Missing expected argument '(.+?)'/) {
      let word =
        found.1.hasBytePrefix("-") ? name(found.1) : found.1.trimmingBytes("<>")
      return "\(word) is missing"
    }
    if let found = text.wholeMatch(of: /Unexpected argument '(.*)'/) {
      return "'\(found.1)' is an unexpected argument"
    }
    if let found = text.wholeMatch(of: /\d+ unexpected arguments: (.+)/) {
      return "unexpected arguments: \(found.1)"
    }
    if let found = text.firstMatch(of: /option '(--?.+?)' does not take any value/) {
      return "\(found.1) takes no value"
    }
    return lowered(text)
  }

  /// A list of values in haul's style.
  private static func choices(_ text: String) -> String {
    guard let found = text.wholeMatch(of: /(?:[Pp]lease provide one of|must be one of:?) +(.+?)\.?/)
    else { return lowered(text) }
    let names = found.1.matches(of: /'?([a-z0-9-]+)'?/).map { String($0.1) }.filter { $0 != "or" }
    return "write one of \(names.joined(separator: ", "))"
  }

  /// The option without the name of its value.
  private static func name(_ text: Substring) -> Substring {
    // A positional value has only that name.
    text.hasBytePrefix("<") ? text.trimmingBytes("<>") : text.prefix(beforeAnyOf: " <")
  }

  private static func lowered(_ text: String) -> String {
    guard let first = text.first, text.dropFirst().first?.isUppercase != true else { return text }
    return first.lowercased() + text.dropFirst()
  }
}
