/// The queues of a host: one for each priority, and two for starts that a person requested.
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

/// Divides turns among the priorities by weight: start-time fair queueing.
///
/// Each priority has a mark that a turn advances by 16 / weight; the lowest mark that can use a
/// turn is next. A mark behind the last turn counts as level with it. So a priority that had
/// nothing to start, or only full or paused hosts, has saved up nothing and loses nothing: the
/// others used its turns, and it gets the next turn that it can use.
struct FairShare: Sendable {
  private var marks = [UInt64](repeating: 0, count: TransferRequest.Priority.allCases.count)
  private var lastTurn: UInt64 = 0

  /// The priority whose turn it is, of those that can use one.
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
