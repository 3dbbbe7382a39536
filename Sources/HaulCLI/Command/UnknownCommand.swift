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
    if ["completion", "completions"].contains(name) { return UsageError(completions) }
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
    "ps": "list", "status": "list", "queue": "list", "events": "log",
    "logs": "log", "top": "watch", "tail": "watch", "progress": "watch", "info": "show",
    "inspect": "show", "why": "explain", "stop": "pause", "kill": "cancel", "abort": "cancel",
    "continue": "resume", "unpause": "resume", "hold": "pause", "rerun": "retry",
    "clear": "remove", "download": "get", "fetch": "get", "upload": "put", "send": "put",
    "push": "put", "enqueue": "add", "mv": "move", "check": "verify", "head": "probe",
    "shard": "split", "partition": "split", "web": "ui", "daemonize": "serve",
  ]

  private static let completions =
    "completions are printed by 'haul --generate-completion-script SHELL' (bash, zsh or fish)"

  /// What other programs have as the second word, or as an option, with what to write.
  private static let usualWords: [String: [String: String]] = [
    "daemon": [
      "log": daemonLog, "logs": daemonLog,
    ],
    "cache": [
      "clear": "write haul cache purge", "clean": "write haul cache purge",
      "rm": "write haul cache purge URL", "remove": "write haul cache purge URL",
      "ls": "write haul cache list", "du": "write haul cache size",
    ],
    "set": ["--rate": rate], "limits": ["--rate": rate], "serve": ["--rate": rate],
    "list": Dictionary(
      uniqueKeysWithValues: (["--status"] + TransferState.allCases.map { "--\($0)" })
        .map { ($0, "write haul list --state STATE, for example --state failed,paused") }),
    "add": Dictionary(
      uniqueKeysWithValues: [
        "--proxy", "--noproxy", "--cacert", "--cert",
        "--key", "--tls-min", "--http1.1", "--http2", "-4", "-6", "--interface", "--resolve",
        "--user-agent", "--connect-timeout", "--idle-timeout",
      ].map { ($0, "it is for all transfers of the daemon: see 'haul serve --help'") }
        + [
          "-j", "--max-active", "--max-per-host", "--max-connections",
          "--max-connections-per-host", "--schedule",
        ].map { ($0, "it is for all transfers of the daemon: see 'haul limits --help'") }
        + ["--worker", "--drain", "--metrics-file"].map {
          ($0, "it is for a run in the foreground: haul get")
        }
        + [
          ("--rate", rate),
          (
            "--manifest",
            "the list itself keeps what is done: the same haul add again adds nothing twice"
          ),
        ]),
    "retry": ["--state": retried, "--failed": retried, "--cancelled": retried],
    "remove": ["--state": "write --completed, --failed or --cancelled"],
  ].merging(
    [
      "pause", "resume", "requeue", "restart", "cancel", "start", "move", "set", "explain", "wait",
    ].map { ($0, ["--state": selected]) }
  ) { own, other in own.merging(other) { $1 } }

  private static let retried =
    "write --group NAME or --all: only what has failed or was cancelled is queued again"

  private static let selected =
    "write ids, --group NAME or --all; 'haul list --state STATE' shows the ids"

  private static let rate = "write --limit-rate RATE"

  private static let daemonLog =
    "the log is daemon.log in $XDG_STATE_HOME/haul, "
    + "or in ~/.local/state/haul"

  /// A hint for the first such word after the command; only used when parsing has failed.
  static func hint(in arguments: [String]) -> String? {
    guard let command = arguments.first, let words = usualWords[command] else { return nil }
    for argument in arguments.dropFirst().prefix(while: { $0 != "--" }) {
      let word = String(argument.prefix(beforeAnyOf: "="))
      if let hint = words[word] { return "\(command) \(word): \(hint)" }
    }
    return nil
  }

  /// The command with almost this name; in a short name, two wrong letters make another word,
  /// unless they are exchanged.
  private static func nearest(to name: String) -> String? {
    let distances = HaulCommand.names.map { (name: $0, count: EditDistance.distance(name, $0)) }
    let near = distances.filter {
      $0.count <= min(2, (name.count + 1) / 3)
        || $0.count == 2 && $0.name.utf8.sorted() == name.utf8.sorted()
    }
    return near.min { $0.count < $1.count }?.name
  }

  /// Quoted so that a shell reads it as one word.
  private static func quoted(_ text: String) -> String {
    text.contains { "&?*;()<>|$ !#[]".contains($0) } ? "'\(text)'" : text
  }
}
