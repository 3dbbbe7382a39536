import HaulCore

/// A segment's request, its answer, and the body that follows; one of them at a time.
struct Connection: Sendable {
  enum Work: Sendable {
    case request(any FetchHandle)
    case task(Task<Void, Never>)
    /// It was answered; the body is neither being received nor released yet.
    case response(FetchResponse)
  }

  let id: SegmentID
  var work: Work
  /// When nothing began to come; what says so of a body, or of a request that waits for others.
  var silence: Since
  /// Whether it was told to stop.
  var isStopped = false
  /// Whether it was given up as nothing came.
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

  /// Stops the work; its end is reported in any case.
  func cancel() {
    switch work {
    case .request(let handle): handle.cancel()
    case .task(let task): task.cancel()
    case .response: break
    }
  }
}
