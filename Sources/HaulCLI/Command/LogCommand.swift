import ArgumentParser
import FoundationEssentials
import HaulControl
import HaulCore

struct LogCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "log",
    abstract: "Shows starts, stops, ends and long waits of the background queue.",
    discussion: """
      Also outages of hosts, and windows of the schedule. The daemon keeps the newest, at least \
      8 MiB of them; it need not run.
      """)

  @Argument(
    help: ArgumentHelp("Only this transfer: its id, or the beginning of one.", valueName: "ID"),
    completion: .transfers)
  var id: String?

  @Flag(name: .shortAndLong, help: "Go on with what happens from now on.")
  var follow = false

  @Option(
    help: ArgumentHelp(
      "The last N lines (default: 100, or with --since or --until all; 0 = all).", valueName: "N"),
    transform: { try ArgumentValue.count($0, in: 0...Int.max) })
  var last: Int?

  @OptionGroup var times: PeriodOptions

  @Flag(help: "Print one JSON object per line.")
  var json = false

  @OptionGroup var directory: StateDirectoryOption

  func plan(_ sources: CommandSources) throws(UsageError) -> any CommandPlan {
    let prefix = id.flatMap { TransferID.Prefix($0) }
    guard id == nil || prefix != nil else {
      throw UsageError("\(id ?? ""): give the id of a transfer, or its beginning")
    }
    guard !follow || times.until == nil else {
      throw UsageError("--follow and --until contradict each other")
    }
    let period = try times.period(at: sources.wallSeconds)
    let last = last ?? (period == nil ? 100 : 0)
    return LogPlan(directory: try directory.path()) { (location, context) in
      var reader = LogReader(LogFiles(path: location.transferLog))
      func lines(_ entries: [LogEntry]) throws -> String {
        try entries.map { json ? try JSONLines.line(of: $0) : Self.line($0) + "\n" }.joined()
      }
      func isMeant(_ entry: LogEntry) -> Bool {
        (period?.contains(entry.time) ?? true)
          && prefix.map { prefix in entry.id.map(prefix.matches) ?? false } ?? true
      }
      let known = try reader.next().filter(isMeant)
      var status = await OutputStream.show(try lines(last > 0 ? known.suffix(last) : known))
      while follow, status == .completed {
        try await context.clock.sleep(until: context.clock.now + Self.pause)
        status = await OutputStream.show(try lines(reader.next().filter(isMeant)))
      }
      return status
    }
  }

  private static let pause: Duration = .milliseconds(250)

  private static func line(_ entry: LogEntry) -> String {
    "\(LocalTime.exactText(entry.time))  \(TerminalText.escaped(entry.text))"
  }
}

struct HistoryCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "history",
    abstract: "Shows what has ended in the background queue, the newest first.",
    discussion: "Also what is no longer in the list. The daemon need not run.")

  @Option(
    help: ArgumentHelp(
      "Only these ends: completed, failed, cancelled, with commas between them.",
      valueName: "STATE,..."),
    transform: ArgumentValue.states)
  var state: Set<TransferState> = []

  @Option(help: ArgumentHelp("Only this group.", valueName: "NAME"), completion: .groups)
  var group: String?

  @Option(
    help: ArgumentHelp(
      "Maximum number of rows (default: 100, or with --since or --until all; 0 = all).",
      valueName: "N"),
    transform: { try ArgumentValue.count($0, in: 0...Int.max) })
  var limit: Int?

  @OptionGroup var times: PeriodOptions

  @Flag(help: "Print one JSON object per line.")
  var json = false

  @OptionGroup var directory: StateDirectoryOption

  func plan(_ sources: CommandSources) throws(UsageError) -> any CommandPlan {
    guard state.allSatisfy(\.isEnded) else {
      throw UsageError("--state: write some of completed, failed and cancelled")
    }
    let names = Set(state.map(\.rawValue))
    let period = try times.period(at: sources.wallSeconds)
    let limit = limit ?? (period == nil ? 100 : 0)
    return LogPlan(directory: try directory.path()) { (location, context) in
      var reader = LogReader(LogFiles(path: location.transferLog))
      let ends = try reader.next().filter { entry in
        entry.isEnd && (names.isEmpty || names.contains(entry.kind.rawValue))
          && (group == nil || entry.group == group) && (period?.contains(entry.time) ?? true)
      }
      let shown = Array((limit > 0 ? ends.suffix(limit) : ends[...]).reversed())
      if json {
        return await OutputStream.show(try shown.map { try JSONLines.line(of: $0) }.joined())
      }
      guard !shown.isEmpty else { return await OutputStream.show("nothing has ended\n") }
      let status = await OutputStream.show(context.fitted(HistoryTable(shown).table))
      if shown.count < ends.count {
        await OutputStream.warn("there are more; to list all: haul history --limit 0")
      }
      return status
    }
  }
}

/// Reads what the daemon keeps, without the daemon.
private struct LogPlan: CommandPlan {
  let directory: String?
  let perform: @Sendable (ControlLocation, ProcessContext) async throws -> ExitStatus

  func run(in context: ProcessContext) async -> ExitStatus {
    do {
      let location = try ControlLocation.of(directory, context.environment)
      guard FileManager.default.fileExists(atPath: location.directory) else {
        throw UsageError("there is no state directory \(location.directory): no daemon has run")
      }
      return try await perform(location, context)
    } catch let error as UsageError {
      return await OutputStream.fail(error.message)
    } catch {
      return await OutputStream.fail(error)
    }
  }
}
