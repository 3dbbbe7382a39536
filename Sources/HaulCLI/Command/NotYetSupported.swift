/// Commands and options that the contract promises and this version lacks: the only table.
enum NotYetSupported {
  private static let commands: Set<String> = [
    "put", "add", "list", "show", "explain", "pause", "resume", "requeue", "cancel",
    "retry", "restart", "remove", "start", "move", "set", "suspend", "unsuspend", "watch", "wait",
    "serve", "daemon", "ui",
  ]

  private static let longOptions: Set<String> = [
    "mirror", "priority", "group", "after", "id", "no-progress-events",
  ]

  /// The name of such a command in the arguments.
  static func command(in arguments: [String]) -> String? {
    guard let first = arguments.first(where: { !$0.hasPrefix("-") }) else { return nil }
    return commands.contains(first) ? first : nil
  }

  /// The first such option. Only used when parsing has failed, so a value that looks like an option
  /// changes at most the message.
  static func option(in arguments: [String]) -> String? {
    for word in arguments.prefix(while: { $0 != "--" }) where word.hasPrefix("--") {
      let name = word.dropFirst(2).prefix { $0 != "=" }
      if longOptions.contains(String(name)) { return "--\(name)" }
    }
    return nil
  }
}
