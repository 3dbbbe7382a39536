/// The queues of a host: one for each priority, and two for starts that a person requested.
enum PriorityLevel: Int, CaseIterable, Sendable {
  case background, utility, `default`, userInitiated, userInteractive
  /// "Start now": before all priorities.
  case startNow
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
/// Each priority has a virtual time that a turn advances by 16 / weight. Of those that can use a
/// turn, the lowest is next. A virtual time below that of the last turn counts as equal to it. So a
/// priority that had nothing to start, or only full or paused hosts, neither saves up turns nor
/// falls behind.
struct SlotFairQueue: Sendable {
  private var virtualTimes = [UInt64](repeating: 0, count: TransferRequest.Priority.allCases.count)
  private var lastStartTag: UInt64 = 0

  /// The priority that has the next turn, of those that can use one.
  func next(among canStart: (TransferRequest.Priority) -> Bool) -> TransferRequest.Priority? {
    var best: (priority: TransferRequest.Priority, virtualTime: UInt64)?
    for priority in TransferRequest.Priority.allCases.reversed() {
      let virtualTime = self.virtualTime(of: priority)
      if virtualTime < best?.virtualTime ?? .max, canStart(priority) {
        best = (priority, virtualTime)
      }
    }
    return best?.priority
  }

  /// Notes that a transfer of this priority had its turn.
  mutating func took(_ priority: TransferRequest.Priority) {
    lastStartTag = virtualTime(of: priority)
    virtualTimes[priority.rawValue] =
      lastStartTag + UInt64(TransferRequest.Priority.userInteractive.weight / priority.weight)
  }

  private func virtualTime(of priority: TransferRequest.Priority) -> UInt64 {
    max(virtualTimes[priority.rawValue], lastStartTag)
  }
}
