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
  /// Since when nothing has been received; kept for a body, or for a request that waits for others.
  var silence: Since
  /// Whether it was asked to stop.
  var isStopped = false
  /// Whether it was dropped after the idle timeout.
  var isSilent = false

  enum Since: Sendable {
    case instant(Instant)
    case told(IdleTimer)

    var start: Instant? {
      switch self {
      case .instant(let instant): instant
      case .told(let silence): silence.start
      }
    }
  }

  var isUnderWay: Bool {
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
