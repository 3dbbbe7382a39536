import ArgumentParser
import HaulControl
import HaulCore

struct LimitsCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "limits",
    abstract: "Shows and changes the limits and the schedule.",
    discussion: """
      A change holds at once and after a restart, above the options of 'haul serve' and haul.conf, \
      until it is changed again or taken back with --reset. A change starts the daemon if none runs.

      Examples:
        haul limits --limit-rate 2M
        haul limits --schedule 'mon-fri 22:00-06:00' --schedule 'sat,sun 00:00-24:00'
        haul limits --schedule always
      """)

  @Option(
    name: [.customShort("j", allowingJoined: true), .customLong("max-active")],
    help: ArgumentHelp("Files at once.", valueName: "N"), transform: LimitOptions.count)
  var active: Int?

  @Option(
    name: .customLong("max-per-host"),
    help: ArgumentHelp("Files at once from one host; or none.", valueName: "N"),
    transform: Self.countOrNone)
  var activePerHost: Int?

  @Option(
    name: .customLong("max-connections"),
    help: ArgumentHelp("Connections in all.", valueName: "N"), transform: LimitOptions.count)
  var connections: Int?

  @Option(
    name: .customLong("max-connections-per-host"),
    help: ArgumentHelp("Connections to one host.", valueName: "N"), transform: LimitOptions.count)
  var connectionsPerHost: Int?

  @Option(
    name: .customLong("limit-rate"),
    help: ArgumentHelp("Bytes per second, all files together; or none.", valueName: "RATE"),
    transform: ArgumentValue.rate)
  var rate: Int64?

  @Option(help: LimitOptions.scheduleHelp)
  var schedule: [String] = []

  @Flag(help: "Forget what was changed: the options of 'haul serve' and haul.conf count again.")
  var reset = false

  @Flag(help: "Print the limits as JSON.")
  var json = false

  func plan(_ sources: CommandSources) throws(UsageError) -> any CommandPlan {
    let (change, reset, json) = (try change, reset, json)
    guard !reset || change == LimitsDocument() else {
      throw UsageError("--reset takes all changes back; give it alone")
    }
    return ControlPlan { session in
      // They count for the first transfer already.
      if reset || change != LimitsDocument() { try await session.startIfNeeded() }
      let client = session.client
      let limits =
        reset
        ? try await client.resetLimits()
        : change == LimitsDocument()
          ? try await client.limits() : try await client.changeLimits(change)
      return await OutputStream.show(
        json ? try JSONLines.line(of: limits) : session.context.fitted(limits.table))
    }
  }

  private var change: LimitsDocument {
    get throws(UsageError) {
      var change = LimitsDocument()
      (change.active, change.activePerHost) = (active, activePerHost)
      (change.connections, change.connectionsPerHost) = (connections, connectionsPerHost)
      change.rate = rate
      if !schedule.isEmpty {
        change.schedule = try LimitOptions.schedule(schedule).map { .init($0) }
      }
      return change
    }
  }

  private static func countOrNone(_ text: String) throws(UsageError) -> Int {
    text == "none" ? 0 : try LimitOptions.count(text)
  }
}

extension LimitsDocument {
  fileprivate var table: TextTable {
    func text(_ number: Int?) -> String { number.map { $0 == 0 ? "none" : "\($0)" } ?? "" }
    let windows = (schedule ?? []).map(\.text)
    let speed = rate.map { $0 == 0 ? "no limit" : Units.rate(Double($0)) } ?? ""
    let rows: [[String]] = [
      ["files at once", text(active)],
      ["files at once from one host", text(activePerHost)],
      ["connections", text(connections)],
      ["connections to one host", text(connectionsPerHost)],
      ["speed", speed],
      ["schedule", windows.isEmpty ? "always" : windows.joined(separator: "; ")],
    ]
    return TextTable(
      heads: ["LIMIT", "VALUE"], rows: rows, flexible: [1], optional: [], rightAligned: [])
  }
}

extension LimitsDocument.Window {
  fileprivate var text: String {
    let days = Schedule.Weekday.allCases.filter { self.days.contains("\($0)") }
    let rate = rate.map { " at most \(Units.rate(Double($0)))" } ?? ""
    return "\(ScheduleText.text(Set(days))) \(from)-\(to)\(rate)"
  }
}
