import HaulCore

/// What runs for a member of the queue.
struct MemberRun: Sendable {
  /// How it ended.
  enum End: Sendable {
    case finished(TransferResult)
    case paused
    /// That it begins could not be stored: it waits again.
    case notBegun
    /// Something is in its way that may go away: it is to go on then.
    case held(Obstacle)
    /// It was to begin again, and the file of an earlier run, whose end nobody stored, has its name already.
    case foundPublished(TransferResult)

    /// One that is held ends as if it were paused.
    var forMachine: TransferMachine.RunEnd {
      switch self {
      case .paused, .held, .notBegun, .foundPublished: .paused
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
      case .finished, .held, .foundPublished: false
      }
    }

    /// Whether it does not go on with the bytes that are there.
    var isOver: Bool {
      switch self {
      case .paused, .held, .notBegun: false
      case .finished, .foundPublished: true
      }
    }

    /// Whether its file has its name.
    var hasFile: Bool {
      switch self {
      case .paused, .held, .notBegun: false
      case .finished(let result): result.state == .completed
      case .foundPublished: true
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
  /// Where its file lies.
  let place = PlaceNote()
  /// What it transfers; nil for a step.
  var url: ResourceURL?
  /// Ends a step that does not end when it is told to; nil for what always does.
  var cutShort: (@Sendable () -> Void)?
  /// Whether that was done: how it ends is of no interest then.
  var isCutShort = false
  /// Whether its progress is told.
  var tellsProgress = true
  /// What is to be done, on a thread for files, once its end is stored.
  var onceStored: (@Sendable () -> Void)?
}
