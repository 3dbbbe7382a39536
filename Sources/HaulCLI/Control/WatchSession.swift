import HaulControl
import HaulCore

/// Runs `haul watch`.
struct WatchSession {
  let context: ProcessContext
  let scope: WatchReport.Scope
  let json: Bool
  let interruptions: AsyncStream<Interruption>?

  /// - Returns: nil when the daemon has ended the stream.
  func run(_ client: ControlClient) async throws -> ExitStatus? {
    let console = WatchConsole(scope, json: json, context)
    let events = try await client.events()
    let status = try await withThrowingTaskGroup(of: ExitStatus?.self) { group in
      group.addTask {
        for try await message in events {
          if let end = try await console.handle(message) { return end }
        }
        return nil
      }
      if let interruptions {
        group.addTask {
          for await cause in interruptions { return cause.status }
          return nil
        }
      }
      let ticks = Task { try await tick(console) }
      defer {
        ticks.cancel()
        group.cancelAll()
      }
      return try await group.next() ?? nil
    }
    await console.close()
    return status
  }

  private func tick(_ console: WatchConsole) async throws {
    let clock = context.clock
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
    hasChanged = false
    await OutputStream.standardError.write(screen.redraw(report.model))
  }

  func close() async {
    let last = json ? "" : screen.add([report.summary])
    await OutputStream.standardError.write(last + screen.close())
  }
}
