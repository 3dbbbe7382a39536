import HaulCore

/// Explains that there is no such command, with what was probably meant.
enum UnknownCommand {
  /// - Parameter name: as the user wrote it.
  static func error(_ name: String) -> UsageError {
    if let url = try? AddressArgument.url(name) {  // otherwise it is not an address
      let shown = url.redacted
      let isExact = !shown.hasBytes("*") && !shown.hasBytes("'")
      return UsageError("to download it: haul get \(isExact ? quoted(shown) : "URL")")
    }
    let word = AddressArgument.redacted(name)
    guard let guess = usualNames[name] ?? nearest(to: name) else {
      return UsageError(
        "there is no command '\(word)'; to download: haul get URL; see 'haul --help'")
    }
    return UsageError("there is no command '\(word)'; did you mean 'haul \(guess)'?")
  }

  /// What other programs call it.
  private static let usualNames = [
    "rm": "remove", "delete": "remove", "del": "remove", "purge": "remove", "ls": "list",
    "ps": "list", "status": "list", "queue": "list", "history": "list", "log": "watch",
    "logs": "watch", "top": "watch", "tail": "watch", "progress": "watch", "info": "show",
    "inspect": "show", "why": "explain", "stop": "pause", "kill": "cancel", "abort": "cancel",
    "continue": "resume", "download": "get", "fetch": "get", "upload": "put", "send": "put",
    "push": "put", "enqueue": "add", "mv": "move", "check": "verify", "head": "probe",
    "web": "ui", "daemonize": "serve",
  ]

  /// The command with almost this name; in a short name, one wrong letter makes another word.
  private static func nearest(to name: String) -> String? {
    let distances = HaulCommand.names.map { (name: $0, count: EditDistance.distance(name, $0)) }
    let nearest = distances.min { $0.count < $1.count }
    return nearest.flatMap { $0.count <= min(2, (name.count + 1) / 2) ? $0.name : nil }
  }

  /// Quoted so that a shell reads it as one word.
  private static func quoted(_ text: String) -> String {
    text.contains { "&?*;()<>|$ !#[]".contains($0) } ? "'\(text)'" : text
  }
}
