import HaulCore

/// How a run ended.
enum RunEnd: Sendable {
  case finished(TransferResult)
  case paused
  /// Something is in its way that may go away: it goes on then.
  case suspended(Obstacle)
  /// That it begins could not be stored: it waits again.
  case notBegun
  /// It was to begin again, and the file of an earlier run, whose end nobody stored, has its name already.
  case foundPublished(TransferResult)

  /// One that is suspended ends as if it were paused.
  var forMachine: TransferMachine.RunEnd {
    switch self {
    case .paused, .suspended, .notBegun, .foundPublished: .paused
    case .finished(let result):
      switch result.state {
      case .completed: .completed
      case .failed: .failed
      case .cancelled: .cancelled
      }
    }
  }

  /// Whether it goes on later by itself, unless somebody wanted something else.
  func isInterruption(isShutDown: Bool) -> Bool {
    switch self {
    case .notBegun: true
    case .paused: isShutDown
    case .finished, .suspended, .foundPublished: false
    }
  }

  /// Whether it does not go on with the bytes that are there.
  var isOver: Bool {
    switch self {
    case .paused, .suspended, .notBegun: false
    case .finished, .foundPublished: true
    }
  }

  /// Whether its file has its name.
  var hasFile: Bool {
    switch self {
    case .paused, .suspended, .notBegun: false
    case .finished(let result): result.state == .completed
    case .foundPublished: true
    }
  }

  var result: TransferResult? {
    if case .finished(let result) = self { result } else { nil }
  }
}
