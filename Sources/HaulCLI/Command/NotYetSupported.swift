/// What the command line contract promises and this version does not have: the one table.
enum NotYetSupported {
  private static let commands: Set<String> = [
    "put", "add", "list", "show", "explain", "pause", "resume", "requeue", "cancel",
    "retry", "restart", "remove", "start", "move", "set", "suspend", "unsuspend", "watch", "wait",
    "serve", "daemon", "ui",
  ]

  private static let longOptions: Set<String> = [
    "mirror", "priority", "group", "after", "id", "no-progress-events",
  ]

  /// The name, when the arguments ask for such a command.
  static func command(in arguments: [String]) -> String? {
    guard let first = arguments.first(where: { !$0.hasPrefix("-") }) else { return nil }
    return commands.contains(first) ? first : nil
  }

  /// The first such option. Only asked when parsing failed, so that a value that looks like an
  /// option changes at most the message.
  static func option(in arguments: [String]) -> String? {
    for word in arguments.prefix(while: { $0 != "--" }) where word.hasPrefix("--") {
      let name = word.dropFirst(2).prefix { $0 != "=" }
      if longOptions.contains(String(name)) { return "--\(name)" }
    }
    return nil
  }
}
