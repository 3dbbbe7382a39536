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

  static let scheduleHelp = ArgumentHelp(
    "Run only at these times, such as 'mon-fri 22:00-06:00', or with a rate, such as "
      + "'8:00-18:00 500K'; may be repeated; or always.",
    valueName: "TIMES")

  /// The windows of `--schedule`; none for `always`.
  static func schedule(_ texts: [String]) throws(UsageError) -> [Schedule.Window] {
    guard texts != ["always"] else { return [] }
    return try texts.map(window)
  }

  /// Days and times, and a rate after them.
  private static func window(_ text: String) throws(UsageError) -> Schedule.Window {
    let words = text.byteSplit(separator: " ").map(String.init)
    let rate = words.count > 1 ? words.last.flatMap { isRate($0) ? $0 : nil } : nil
    let times = words.dropLast(rate == nil ? 0 : 1).joined(separator: " ")
    let rateLimit = try UsageError.checked(rate.map(rateLimit), at: "--schedule \(text)")
    guard var window = Schedule.Window(times) else {
      throw UsageError(
        "--schedule \(text): write days and times, such as mon-fri 22:00-06:00 or "
          + "daily 01:00-05:00, with a rate after them if they have one (8:00-18:00 500K), "
          + "or: always")
    }
    window.rateLimit = rateLimit
    return window
  }

  /// Times have a hyphen, days are letters, and a rate is a number.
  private static func isRate(_ word: String) -> Bool {
    word.utf8.first.map(FieldScanner.isDigit) ?? false && !word.utf8.contains(UInt8(ascii: "-"))
  }

  private static func rateLimit(_ text: String) throws(UsageError) -> Int64 {
    let rate = try ArgumentValue.rate(text)
    guard rate != 0 else {
      throw UsageError("a rate of 0 is for times in which nothing runs: leave them out")
    }
    return rate
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

  @Option(help: LimitOptions.scheduleHelp)
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
