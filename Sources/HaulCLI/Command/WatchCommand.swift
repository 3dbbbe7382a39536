import ArgumentParser
import HaulControl
import HaulCore

struct WatchCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "watch",
    abstract: "Shows transfers while they run, until they have ended or are paused.",
    discussion: """
      Without ids or a group, it shows all transfers. Ctrl-C ends the view and not the transfers. \
      The exit status is that of 'haul wait'.
      """)

  @Argument(
    help: ArgumentHelp(
      "Ids, unique prefixes of ids, or names given with --id.", valueName: "ID"),
    completion: .transfers)
  var ids: [String] = []

  @Option(help: ArgumentHelp("Only this group.", valueName: "NAME"), completion: .groups)
  var group: String?

  @Flag(help: "Print events as JSON, one object per line; a transfer's state first.")
  var json = false

  func plan(_ sources: CommandSources) throws(UsageError) -> any CommandPlan {
    if !ids.isEmpty, group != nil { throw UsageError("give either ids or --group") }
    return ControlPlan(waits: true) { session in
      let interruptions = Signals.takeOver().interruptions
      if let group, try await session.client.transfers(group: group, atMost: 1).transfers.isEmpty {
        return await session.isEmpty(group)
      }
      var scope = group.map(WatchReport.Scope.group) ?? .all
      let known = try await session.known(ids)
      if !ids.isEmpty {
        guard !known.isEmpty else { return .failed }
        scope = .ids(Set(known))
      }
      let console = WatchConsole(scope, json: json, session.context)
      if let status = try await follow(console, session, until: interruptions) {
        let isEnd = status == .completed || status == .stopped
        return isEnd && known.count < ids.count ? .failed : status
      }
      return await OutputStream.fail(
        "the daemon was stopped; start it with: haul daemon start", with: .stopped)
    }
  }

  /// - Returns: nil when the daemon has ended the stream.
  private func follow(
    _ console: WatchConsole, _ session: ControlSession,
    until interruptions: AsyncStream<Interruption>
  ) async throws -> ExitStatus? {
    let events = try await session.client.events()
    let status = try await withThrowingTaskGroup(of: ExitStatus?.self) { group in
      group.addTask {
        for try await message in events {
          if let end = try await console.handle(message) { return end }
        }
        return nil
      }
      group.addTask {
        for await cause in interruptions { return cause.status }
        return nil
      }
      let ticks = Task { try await tick(console, session.context.clock) }
      defer {
        ticks.cancel()
        group.cancelAll()
      }
      return try await group.next() ?? nil
    }
    await console.close()
    return status
  }

  private func tick(_ console: WatchConsole, _ clock: any TransferClock) async throws {
    while true {
      await console.tick()
      try await clock.sleep(until: clock.now + .milliseconds(100))
    }
  }
}

/// Owns the report and the screen; all output goes through it, in one order.
private actor WatchConsole {
  private var report: WatchReport
  private var screen: ProgressScreen
  private let view: ForegroundReport.ProgressView
  private let json: Bool
  private let clock: any TransferClock
  private let start: Instant
  private var lastPlain: Instant
  private var hasChanged = true
  private var pace = DrawingPace()

  init(_ scope: WatchReport.Scope, json: Bool, _ context: ProcessContext) {
    var options = OutputOptions()
    options.json = json
    view = context.view(for: options)
    report = WatchReport(scope, json: json)
    screen = ProgressScreen(
      hasBars: view == .bar, style: context.style, size: { context.drawableSize })
    (self.json, clock) = (json, context.clock)
    (start, lastPlain) = (clock.now, clock.now)
  }

  /// - Returns: the exit status, at the end.
  func handle(_ message: StreamMessage) async throws -> ExitStatus? {
    let lines = try report.handle(message, wallSeconds: clock.wallSeconds)
    hasChanged = true
    if json {
      if await OutputStream.standardOutput.write(lines.joined()) == .gone { return .outputGone }
    } else if view != .none {
      await OutputStream.standardError.write(screen.add(lines))
    }
    return report.end
  }

  /// Redraws the bars, or writes the plain lines that are due.
  func tick() async {
    report.elapsed = clock.now - start
    if view == .plain, !json, clock.now - lastPlain >= .seconds(10) {
      lastPlain = clock.now
      await OutputStream.standardError.write(report.running.map { $0 + "\n" }.joined())
    }
    guard view == .bar, hasChanged || report.isCountingDown else { return }
    let drawing = clock.now
    guard pace.isDue(at: drawing) else { return }
    hasChanged = false
    await OutputStream.standardError.write(screen.redraw(report.model))
    pace.note(clock.now - drawing, at: clock.now)
  }

  func close() async {
    let last = json ? "" : screen.add([report.summary])
    await OutputStream.standardError.write(last + screen.close())
  }
}
