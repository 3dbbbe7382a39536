/// One run of a program: which signals its process group gets for each order, and what its end
/// means.
///
/// A program cannot be paused. For a pause, an idempotent program is ended; any other runs to its
/// end, like a step without checkpoints.
package struct ProgramMachine: Sendable, Hashable {
  package enum Order: Sendable, Hashable, CaseIterable {
    case pause, cancel
    /// The manager stops waiting.
    case forceStop
  }

  package enum Action: Sendable, Hashable {
    case terminate(thenKillAt: Instant)
    case kill
  }

  package enum Outcome: Sendable, Hashable {
    case completed
    case failed(TransferError)
    case cancelled, paused
  }

  /// The time between the first signal and the second.
  package static let grace: Duration = .seconds(4)
  /// The same during a shutdown of the manager, which waits for a second.
  package static let lastGrace: Duration = .milliseconds(500)

  private let isIdempotent: Bool
  private var order: Order?
  private var hasBegun = false
  /// Whether a signal was sent: the exit status then means nothing.
  private var wasSignalled = false

  package init(isIdempotent: Bool) { self.isIdempotent = isIdempotent }

  /// Whether the program may start, because no order came before.
  package mutating func begin() -> Bool {
    hasBegun = order == nil
    return hasBegun
  }

  package mutating func handle(_ order: Order, at now: Instant) -> Action? {
    if order == .cancel || self.order == nil { self.order = order }
    guard hasBegun else { return nil }
    if wasSignalled { return order == .forceStop ? .kill : nil }
    guard order != .pause || isIdempotent else { return nil }
    wasSignalled = true
    return .terminate(thenKillAt: now + (order == .forceStop ? Self.lastGrace : Self.grace))
  }

  /// The outcome if an order came before its start.
  package var outcomeIfNotStarted: Outcome { order == .cancel ? .cancelled : .paused }

  /// - Parameter name: the name of the program.
  package func outcome(of end: ProgramEnd, name: String) -> Outcome {
    guard !wasSignalled else { return outcomeIfNotStarted }
    return end.error(name).map(Outcome.failed) ?? .completed
  }
}

extension ProgramEnd {
  private static let lines = 3
  private static let cells = 400
  /// What separates the reason from the output.
  private static let mark = "; it said: "

  /// An error's message without what the program wrote, which may be a secret of its owner.
  package static func withoutOutput(_ message: String) -> String {
    message.utf8.firstRange(of: mark.utf8).map { String(message[..<$0.lowerBound]) } ?? message
  }

  /// The error of this end, with the last output; nil for a success.
  package func error(_ name: String) -> TransferError? {
    let reason: String
    switch status {
    case .exited(0): return nil
    case .exited(let code): reason = "ended with exit code \(code)"
    case .signalled(let number): reason = "was ended by \(Self.text(signal: number))"
    case .unknown: reason = "ended, but another part of this process collected its exit status"
    }
    let said =
      errors.lines(Self.lines, cells: Self.cells)
      ?? output.lines(Self.lines, cells: Self.cells)
    return TransferError(.io, "\(name) \(reason)" + (said.map { Self.mark + $0 } ?? ""))
  }

  /// Signals with the same number on every system.
  private static let signals: [Int32: String] = [
    1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 8: "SIGFPE", 9: "SIGKILL",
    11: "SIGSEGV", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM",
  ]

  private static func text(signal number: Int32) -> String {
    "signal \(number)" + (signals[number].map { " (\($0))" } ?? "")
  }
}
