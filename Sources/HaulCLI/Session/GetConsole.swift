package import HaulCore

/// Owns the report and the screen of one run; everything that is written goes through here, in
/// one order.
package actor GetConsole {
  /// What the run does next.
  package enum Verdict: Hashable, Sendable { case goOn, allEnded, outputGone }

  private var report: GetReport
  private var display = TerminalDisplay()
  private let view: GetReport.ProgressView
  private let style: FrameStyle
  private let surroundings: Surroundings
  private let standardOutput: OutputStream
  private let standardError: OutputStream
  private var outputError: Int32?
  private var hasInternalError = false

  package init(
    expected: Int, options: OutputOptions, surroundings: Surroundings,
    standardOutput: OutputStream, standardError: OutputStream
  ) {
    view = surroundings.view(for: options)
    style = surroundings.style
    self.surroundings = surroundings
    self.standardOutput = standardOutput
    self.standardError = standardError
    report = GetReport(
      expected: expected, options: options, view: view, at: surroundings.clock.now)
  }

  package func handle(_ event: TransferEvent) async -> Verdict {
    do {
      await write(try report.handle(event, wallSeconds: surroundings.clock.wallSeconds))
    } catch {
      await reportInternal(error)
    }
    if report.interruption == .outputGone { return .outputGone }
    return report.isDone ? .allEnded : .goOn
  }

  /// Redraws the bars, or writes the plain lines that are due.
  package func tick() async {
    let lines = report.tick(at: surroundings.clock.now)
    if view == .bar || !lines.isEmpty { await write(lines) }
  }

  /// What became of the file's bytes on standard output.
  package func noticeOutput(_ outcome: OutputStream.Outcome) async { await notice(outcome) }

  package func interrupt(_ cause: Interruption) { report.interrupt(cause) }

  /// A line of the engine's log.
  package func log(_ line: String) async { await write([.message(line)]) }

  /// Writes what is said last, and tells the status to exit with.
  package func end() async -> ExitStatus {
    do {
      let wall = surroundings.clock.wallSeconds
      await write(try report.end(at: surroundings.clock.now, wallSeconds: wall), isLast: true)
    } catch {
      await reportInternal(error)
    }
    let hasProblem = hasInternalError || outputError != nil
    return report.status == .completed && hasProblem ? .failed : report.status
  }

  /// Computes all texts before the first suspension, so that their order is the events' order.
  private func write(_ outputs: [GetReport.Output], isLast: Bool = false) async {
    var messages: [String] = []
    var json = ""
    for output in outputs {
      switch output {
      case .message(let line): messages.append(line)
      case .json(let line): json += line
      }
    }
    let screen = screenText(messages, isLast: isLast)
    async let shown = standardError.write(screen)
    let outcome = outputError == nil ? await standardOutput.write(json) : .written
    await notice(outcome)
    _ = await shown  // nobody can be told that standard error cannot be written
  }

  private func screenText(_ messages: [String], isLast: Bool) -> String {
    guard view == .bar else { return messages.map { $0 + "\n" }.joined() }
    let size = surroundings.size
    let frame =
      isLast
      ? nil
      : ProgressFrame(
        report.files, expected: report.expected, width: size.width, height: size.height,
        style: style)
    return display.update(lines: messages, frame: frame, width: size.width)
  }

  private func notice(_ outcome: OutputStream.Outcome) async {
    switch outcome {
    case .written: break
    case .gone: report.interrupt(.outputGone)
    case .failed(let number):
      outputError = number
      let text = "haul: standard output cannot be written (error \(number))\n"
      await standardError.write(text)
    }
  }

  private func reportInternal(_ error: any Error) async {
    hasInternalError = true
    await standardError.write("haul: an event could not be written as JSON: \(error)\n")
  }
}
