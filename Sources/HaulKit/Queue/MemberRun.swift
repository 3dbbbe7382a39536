import HaulCore

/// What runs for a member of the queue.
struct MemberRun: Sendable {
  /// How it ended.
  enum End: Sendable {
    case finished(TransferResult)
    case paused

    var forMachine: TransferMachine.RunEnd {
      switch self {
      case .paused: .paused
      case .finished(let result):
        switch result.state {
        case .completed: .completed
        case .failed: .failed
        case .cancelled: .cancelled
        }
      }
    }

    var result: TransferResult? {
      if case .finished(let result) = self { result } else { nil }
    }
  }

  /// What others may tell it.
  enum Order: Sendable {
    case pause, cancel, slotGranted
  }

  let orders = OrderRelay()
  /// What it transfers; nil for a step.
  var url: ResourceURL?
  /// Whether its progress is told.
  var tellsProgress = true
}
