import ArgumentParser
import HaulCore

/// Limits of all transfers together.
struct LimitOptions: ParsableArguments {
  @Option(
    name: [.customShort("j", allowingJoined: true), .customLong("max-active")],
    help: ArgumentHelp("Files at once (default: 8).", valueName: "N"), transform: Self.count)
  var maximumActive: Int?

  @Option(
    name: .customLong("max-per-host"),
    help: ArgumentHelp("Files at once from one host (default: 4).", valueName: "N"),
    transform: Self.count)
  var maximumPerHost: Int?

  @Option(
    name: .customLong("limit-rate"),
    help: ArgumentHelp(
      "Bytes per second, all files together (default: no limit).", valueName: "RATE"),
    transform: ArgumentValue.rate)
  var rateLimit: Int64?

  static func count(_ text: String) throws(UsageError) -> Int {
    try ArgumentValue.count(text, in: 1...1000)
  }

  /// The windows of `--schedule`; none for `always`.
  static func schedule(_ texts: [String]) throws(UsageError) -> [Schedule.Window] {
    guard texts != ["always"] else { return [] }
    return try texts.map { (text) throws(UsageError) in
      guard let window = Schedule.Window(text) else {
        throw UsageError(
          "--schedule \(text): write days and times, such as mon-fri 22:00-06:00 or "
            + "daily 01:00-05:00, or: always")
      }
      return window
    }
  }
}

/// The limits that only the daemon has.
struct DaemonLimitOptions: ParsableArguments {
  @Option(
    name: .customLong("max-connections"),
    help: ArgumentHelp("Connections in all (default: 64).", valueName: "N"),
    transform: LimitOptions.count)
  var connections: Int?

  @Option(
    name: .customLong("max-connections-per-host"),
    help: ArgumentHelp("Connections to one host (default: 16).", valueName: "N"),
    transform: LimitOptions.count)
  var connectionsPerHost: Int?

  @Option(
    help: ArgumentHelp(
      "Run only at these times, such as 'mon-fri 22:00-06:00'; may be repeated; or always.",
      valueName: "TIMES"))
  var schedule: [String] = []

  static let names: Set = ["max-connections", "max-connections-per-host", "schedule"]

  /// Lines of the configuration file that do not count beside these options.
  var overridden: Set<String> { schedule.isEmpty ? [] : ["schedule"] }

  /// What is given here counts as it is; what follows from other limits does not raise it.
  func apply(to options: inout ManagerOptions) throws(UsageError) {
    if let connections { options.maximumConnections = connections }
    if let connectionsPerHost { options.connectionsPerHost = connectionsPerHost }
    options.schedule = try LimitOptions.schedule(schedule)
  }
}
