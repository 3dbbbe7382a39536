/// One run of a program: what its process group is told for each order, and what its end means.
///
/// A program cannot be asked to pause. One that may run again is ended for a pause; any other runs
/// to its end, as a step does that never looks.
package struct ProgramMachine: Sendable, Hashable {
  package enum Order: Sendable, Hashable, CaseIterable {
    case pause, cancel
    /// The manager does not wait any longer.
    case cutShort
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

  /// How long it has after the first signal.
  package static let grace: Duration = .seconds(4)
  /// The same, when the manager ends: it waits for a second.
  package static let lastGrace: Duration = .milliseconds(500)

  private let isIdempotent: Bool
  private var order: Order?
  private var hasBegun = false
  /// Whether it was told to end: its exit status says nothing then.
  private var isToldToEnd = false

  package init(isIdempotent: Bool) { self.isIdempotent = isIdempotent }

  /// Whether the program may run: nothing else was ordered before.
  package mutating func begin() -> Bool {
    hasBegun = order == nil
    return hasBegun
  }

  package mutating func handle(_ order: Order, at now: Instant) -> Action? {
    if order == .cancel || self.order == nil { self.order = order }
    guard hasBegun else { return nil }
    if isToldToEnd { return order == .cutShort ? .kill : nil }
    guard order != .pause || isIdempotent else { return nil }
    isToldToEnd = true
    return .terminate(thenKillAt: now + (order == .cutShort ? Self.lastGrace : Self.grace))
  }

  /// What it means that it did not begin, as something else was ordered.
  package var outcomeUnbegun: Outcome { order == .cancel ? .cancelled : .paused }

  /// - Parameter name: of the program.
  package func outcome(of end: ProgramEnd, name: String) -> Outcome {
    guard !isToldToEnd else { return outcomeUnbegun }
    return end.error(name).map(Outcome.failed) ?? .completed
  }
}

extension ProgramEnd {
  private static let lines = 3
  private static let cells = 400

  /// What is wrong with this end, with what it said last; nil when nothing is.
  package func error(_ name: String) -> TransferError? {
    let reason: String
    switch status {
    case .exited(0): return nil
    case .exited(let code): reason = "ended with exit code \(code)"
    case .signalled(let number): reason = "was ended by \(Self.words(signal: number))"
    case .unknown: reason = "ended, but another part of this process collected its exit status"
    }
    let said =
      errors.lines(Self.lines, cells: Self.cells)
      ?? output.lines(Self.lines, cells: Self.cells)
    return TransferError(.io, "\(name) \(reason)" + (said.map { "; it said: \($0)" } ?? ""))
  }

  /// Those whose number is the same on every system.
  private static let signals: [Int32: String] = [
    1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 8: "SIGFPE", 9: "SIGKILL",
    11: "SIGSEGV", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM",
  ]

  private static func words(signal number: Int32) -> String {
    "signal \(number)" + (signals[number].map { " (\($0))" } ?? "")
  }
}
