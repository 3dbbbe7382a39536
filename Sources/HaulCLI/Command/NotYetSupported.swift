/// The only table of documented commands and options that this version lacks.
enum NotYetSupported {
  private static let commands: Set<String> = [
    "put"
  ]

  private static let longOptions: Set<String> = [
    "mirror", "priority", "group", "after", "id", "no-progress-events",
  ]

  /// The name of the first such command in the arguments.
  static func command(in arguments: [String]) -> String? {
    guard let first = arguments.first(where: { !$0.hasPrefix("-") }) else { return nil }
    return commands.contains(first) ? first : nil
  }

  /// The first such option. Only used after parsing has failed: if a value looks like an option,
  /// only the message is different.
  static func option(in arguments: [String]) -> String? {
    for word in arguments.prefix(while: { $0 != "--" }) where word.hasPrefix("--") {
      let name = word.dropFirst(2).prefix { $0 != "=" }
      if longOptions.contains(String(name)) { return "--\(name)" }
    }
    return nil
  }
}
