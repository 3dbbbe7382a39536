import HaulCore

/// One segment's request, its answer, and the body that follows; one at a time.
struct Connection: Sendable {
  enum Work: Sendable {
    case request(any FetchHandle)
    case task(Task<Void, Never>)
    /// It was answered; the body is neither being received nor released yet.
    case response(FetchResponse)
  }

  let id: SegmentID
  var work: Work
  /// Since when nothing has been received: an instant for a request without a task, else a timer.
  var idleSince: IdleSince
  /// Whether it was asked to stop.
  var isStopped = false
  /// Whether it was dropped after the idle timeout.
  var hasTimedOut = false

  enum IdleSince: Sendable {
    case instant(Instant)
    case timer(IdleTimer)

    var start: Instant? {
      switch self {
      case .instant(let instant): instant
      case .timer(let idleTimer): idleTimer.start
      }
    }
  }

  var isActive: Bool {
    if case .response = work { false } else { true }
  }

  /// Stops the work; its end is reported anyway.
  func cancel() {
    switch work {
    case .request(let handle): handle.cancel()
    case .task(let task): task.cancel()
    case .response: break
    }
  }
}
