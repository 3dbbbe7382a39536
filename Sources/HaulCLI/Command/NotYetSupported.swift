import HaulCore

/// The only table of documented options that this version, or `get`, lacks.
enum NotYetSupported {
  /// By command.
  private static let longOptions: [String: Set<String>] = [
    "get": ["mirror"],
    "add": ["mirror"],
  ]

  /// The options of `add` that concern the queue, which `get` does not have.
  private static let queueOptions: Set<String> = [
    "priority", "group", "after", "at", "id", "paused", "no-progress-events", "every", "again",
  ]

  private static func first(of arguments: [String]) -> String? {
    arguments.first { !$0.hasBytePrefix("-") }
  }

  /// The message about the first such option; nil if there is none. Only used after parsing has
  /// failed, so a value that looks like an option only changes the message.
  /// - Parameter command: the name of the command; nil to take it from the arguments.
  static func message(about arguments: [String], of command: String? = nil) -> String? {
    guard let command = command ?? first(of: arguments), let missing = longOptions[command] else {
      return nil
    }
    for word in arguments.prefix(while: { $0 != "--" }) where word.hasBytePrefix("--") {
      let name = String(word.dropFirst(2).prefix(beforeAnyOf: "="))
      if missing.contains(name) {
        return
          "--\(name) is not yet supported: several addresses of one file; for wget's, "
          + "--keep-paths keeps the paths of addresses"
      }
      if command == "get", queueOptions.contains(name) {
        return "--\(name) is an option of 'haul add', for the background queue"
      }
    }
    return nil
  }
}
