/// The only table of documented commands and options that this version lacks.
enum NotYetSupported {
  private static let commands: Set<String> = [
    "put"
  ]

  /// By command.
  private static let longOptions: [String: Set<String>] = [
    "get": ["mirror", "priority", "group", "after", "id", "no-progress-events"],
    "add": ["mirror", "put"],
  ]

  /// The name of the first such command in the arguments.
  static func command(in arguments: [String]) -> String? {
    first(of: arguments).flatMap { commands.contains($0) ? $0 : nil }
  }

  private static func first(of arguments: [String]) -> String? {
    arguments.first { !$0.hasPrefix("-") }
  }

  /// The first such option. Only used after parsing has failed: if a value looks like an option,
  /// only the message is different.
  /// - Parameter command: nil if it is in the arguments.
  static func option(in arguments: [String], of command: String? = nil) -> String? {
    guard let missing = (command ?? first(of: arguments)).flatMap({ longOptions[$0] }) else {
      return nil
    }
    for word in arguments.prefix(while: { $0 != "--" }) where word.hasPrefix("--") {
      let name = word.dropFirst(2).prefix { $0 != "=" }
      if missing.contains(String(name)) { return "--\(name)" }
    }
    return nil
  }
}
