/// The queues that a host has: one for each priority, and two for what a person said of a start.
enum PriorityLevel: Int, CaseIterable, Sendable {
  case background, utility, `default`, userInitiated, userInteractive
  /// "Start now": before all priorities.
  case express
  /// Beyond the limits on active transfers.
  case forced

  init(_ priority: TransferRequest.Priority) {
    self =
      switch priority {
      case .background: .background
      case .utility: .utility
      case .default: .default
      case .userInitiated: .userInitiated
      case .userInteractive: .userInteractive
      }
  }
}

/// Shares turns among the priorities by their weight: start-time fair queueing.
///
/// Each priority has a mark that a turn moves on by 16 / weight; the one with the least mark that
/// can use a turn is next. A mark that lags behind the last turn given counts as level with it. So
/// one that had nothing to start, or whose hosts were all full or paused, has saved up nothing, and
/// is not punished either: what it could not use went to the others, and the first turn that it can
/// use is its own.
struct FairShare: Sendable {
  private var marks = [UInt64](repeating: 0, count: TransferRequest.Priority.allCases.count)
  private var lastTurn: UInt64 = 0

  /// Whose turn it is of those that can use one.
  func next(among canStart: (TransferRequest.Priority) -> Bool) -> TransferRequest.Priority? {
    var best: (priority: TransferRequest.Priority, mark: UInt64)?
    for priority in TransferRequest.Priority.allCases.reversed() {
      let mark = self.mark(of: priority)
      if mark < best?.mark ?? .max, canStart(priority) { best = (priority, mark) }
    }
    return best?.priority
  }

  /// Notes that one of this priority had its turn.
  mutating func took(_ priority: TransferRequest.Priority) {
    lastTurn = mark(of: priority)
    marks[priority.rawValue] =
      lastTurn + UInt64(TransferRequest.Priority.userInteractive.weight / priority.weight)
  }

  private func mark(of priority: TransferRequest.Priority) -> UInt64 {
    max(marks[priority.rawValue], lastTurn)
  }
}
