/// What the command line contract promises and this version does not have: the one table.
enum NotYetSupported {
  private static let commands: Set<String> = [
    "put", "add", "list", "show", "explain", "pause", "resume", "requeue", "cancel",
    "retry", "restart", "remove", "start", "move", "set", "suspend", "unsuspend", "watch", "wait",
    "serve", "daemon", "ui",
  ]

  private static let longOptions: Set<String> = [
    "input-file", "mirror", "user", "password-file", "bearer-file", "netrc",
    "cookie", "cookie-file", "user-agent", "trust-redirects", "proxy", "noproxy", "cert", "key",
    "tls-min", "http1.1", "http2", "interface", "resolve", "priority", "group", "after", "id",
    "no-progress-events",
  ]

  private static let shortOptions: Set<Character> = ["i", "4", "6"]
  /// Short options that take the rest of their word, or the next one, as a value.
  private static let shortOptionsWithValue: Set<Character> = ["o", "d", "j", "x", "H"]

  /// The name, when the arguments ask for such a command.
  static func command(in arguments: [String]) -> String? {
    guard let first = arguments.first(where: { !$0.hasPrefix("-") }) else { return nil }
    return commands.contains(first) ? first : nil
  }

  /// The first such option. Only asked when parsing failed, so that a value that looks like an
  /// option changes at most the message.
  static func option(in arguments: [String]) -> String? {
    for word in arguments.prefix(while: { $0 != "--" }) {
      if word.hasPrefix("--") {
        let name = word.dropFirst(2).prefix { $0 != "=" }
        if longOptions.contains(String(name)) { return "--\(name)" }
      } else if word.hasPrefix("-") {
        let letters = word.dropFirst().prefix { !shortOptionsWithValue.contains($0) }
        if let letter = letters.first(where: shortOptions.contains) { return "-\(letter)" }
      }
    }
    return nil
  }
}
