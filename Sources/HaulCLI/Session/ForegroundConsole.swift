package import HaulCore

/// Owns the report and the screen of one run; all output goes through it, in one order.
package actor ForegroundConsole {
  /// What the run does next.
  package enum RunState: Hashable, Sendable { case ongoing, allEnded, outputGone }

  private var report: ForegroundReport
  private var screen: ProgressScreen
  private var pace = DrawingPace()
  /// Whether each line begins with the time.
  private let hasTimes: Bool
  private let context: ProcessContext
  private let standardOutput: OutputStream
  private let standardError: OutputStream
  private var outputError: Int32?
  /// The status of what keeps the run from success beside its transfers.
  private var problem: ExitStatus?

  package init(
    indices: [Int], further: Int = 0, options: OutputOptions, context: ProcessContext,
    standardOutput: OutputStream, standardError: OutputStream
  ) {
    let view = context.view(for: options)
    screen = ProgressScreen(
      hasBars: view == .bar, style: context.style, size: { context.drawableSize })
    hasTimes = context.hasTimes(for: options)
    self.context = context
    self.standardOutput = standardOutput
    self.standardError = standardError
    report = ForegroundReport(
      indices: indices, further: further, options: options, view: view, at: context.clock.now)
  }

  /// Takes the numbers of the next transfers, before their events.
  package func expect(_ indices: [Int]) { report.expect(indices) }

  /// Handles events, and writes their lines at once.
  package func handle(_ events: [TransferEvent]) async -> RunState {
    let wall = context.clock.wallSeconds
    var outputs: [ForegroundReport.Output] = []
    for event in events {
      do {
        let new = try report.handle(event, wallSeconds: wall)
        if !new.isEmpty { outputs += new }
      } catch {
        await write(outputs)
        outputs = []
        await reportInternal(error)
      }
    }
    await write(outputs)
    if report.interruption == .outputGone { return .outputGone }
    return report.isDone ? .allEnded : .ongoing
  }

  /// Redraws the bars if something has changed, or writes the plain lines that are due.
  package func tick() async {
    await write(report.tick(at: context.clock.now))
    let start = context.clock.now
    guard pace.isDue(at: start) else { return }
    await show(screen.redraw(report.model))
    pace.note(context.clock.now - start, at: context.clock.now)
  }

  package func interrupt(_ cause: Interruption) { report.interrupt(cause) }

  /// Reports why the run ends with a failure.
  package func refuse(_ line: String, with status: ExitStatus = .failed) async {
    problem = status
    await write([.message(line)])
  }

  /// Writes a line of the engine's log.
  package func log(_ line: String) async { await write([.message(line)]) }

  /// Writes the last lines, and returns the exit status.
  package func end() async -> ExitStatus {
    do {
      let wall = context.clock.wallSeconds
      await write(try report.end(at: context.clock.now, wallSeconds: wall))
    } catch {
      await reportInternal(error)
    }
    await show(screen.close())
    guard report.status == .completed else { return report.status }
    return problem ?? (outputError == nil ? .completed : .failed)
  }

  /// Computes all texts before the first suspension, so that they have the order of the events.
  private func write(_ outputs: [ForegroundReport.Output]) async {
    var messages: [String] = []
    var text = ""
    for output in outputs {
      switch output {
      case .message(let line): messages.append(line)
      case .output(let some): text += some
      }
    }
    if hasTimes, !messages.isEmpty {
      let time = LocalTime.exactText(context.clock.wallSeconds)
      messages = messages.map { "\(time) \($0)" }
    }
    await show(screen.add(messages))
    if outputError == nil { await notice(await standardOutput.write(text)) }
  }

  /// A failure to write to standard error cannot be reported.
  private func show(_ text: String) async { await standardError.write(text) }

  package func notice(_ outcome: OutputStream.Outcome) async {
    switch outcome {
    case .written: break
    case .gone: report.interrupt(.outputGone)
    case .failed(let number):
      outputError = number
      await show(
        screen.add(["haul: standard output cannot be written: \(SystemError.text(number))"]))
    }
  }

  private func reportInternal(_ error: any Error) async {
    problem = .failed
    let text = Messages.shown("haul: an event could not be written as JSON: \(error)")
    await show(screen.add([text]))
  }
}
