/// What a segment, or a whole transfer, remembers of its failures.
package struct RetryState: Hashable, Sendable {
  package enum Decision: Hashable, Sendable {
    /// Try again after a wait; `attempt` counts the retries since the last progress, from 1.
    case retry(after: Duration, attempt: Int)
    case giveUp
  }

  /// Retries since the last progress that counted.
  package private(set) var attempts = 0
  private let policy: RetryPolicy
  /// When there was progress that counted, or the start.
  private var lastProgress: Instant
  private var progressed: Int64 = 0
  private var firstContactFailure: Instant?

  package init(_ policy: RetryPolicy, startedAt start: Instant) {
    self.policy = policy
    lastProgress = start
  }

  /// An attempt that failed.
  package struct Failure: Sendable {
    /// Bytes that it brought. Several attempts add up: a server that cuts every answer off at 100
    /// KiB is slow, not broken.
    package var progressed: Int64 = 0
    /// Bytes that were missing when it began; bringing a quarter of them counts, however few.
    package var remaining = Int64.max
    /// The server's wish; it takes the place of the back-off.
    package var retryAfter: Duration?
    /// What is known of a host that gave no answer; nil when it gave one.
    package var silentHost: HostHealth?
    /// Whether a person waits for it: asks of all transfers of a silent host count, so that it
    /// fails soon.
    package var isAttended = false
    /// Whether nothing has answered yet, so that the name or the port is wrong, likelier than not:
    /// two retries within 3 s.
    package var isFirstContact = false
    package var isRetryable = true

    package init() {}
  }

  /// Decides after a failed attempt.
  package mutating func failed(
    _ failure: Failure, at now: Instant, using generator: inout some RandomNumberGenerator
  ) -> Decision {
    guard failure.isRetryable else { return .giveUp }
    noteProgress(failure.progressed, of: failure.remaining, at: now)
    var limit = policy.retries
    var deadline = lastProgress + policy.maximumTime
    if failure.isFirstContact, policy.isShortAtFirstContact {
      let first = failure.silentHost?.since ?? firstContactFailure ?? now
      firstContactFailure = first
      limit = min(limit, RetryPolicy.firstContactRetries)
      deadline = min(deadline, first + RetryPolicy.firstContactTime)
    }
    let attempt = attempts + 1
    let attemptOfHost = (failure.silentHost?.failures ?? 0) + 1
    guard (failure.isAttended ? max(attempt, attemptOfHost) : attempt) <= limit else {
      return .giveUp
    }
    let ceiling = RetryPolicy.ceiling(ofAttempt: max(attempt, attemptOfHost))
    // Those of a host that answers nobody ask one at a time: they need not be kept apart.
    let least = failure.silentHost == nil ? .zero : ceiling / 2
    let delay = failure.retryAfter ?? least + Self.jitter(ceiling - least, &generator)
    // Waiting past the deadline would only put off the news.
    guard now + delay <= deadline else { return .giveUp }
    attempts = attempt
    return .retry(after: delay, attempt: attempt)
  }

  private mutating func noteProgress(_ bytes: Int64, of remaining: Int64, at now: Instant) {
    guard bytes > 0 else { return }
    progressed = min(progressed, RetryPolicy.progressThatCounts) + bytes
    guard progressed >= RetryPolicy.progressThatCounts || bytes >= remaining / 4 else { return }
    attempts = 0
    progressed = 0
    lastProgress = now
  }

  /// Full jitter: anything from 0 to `ceiling`, so that clients that failed together do not come
  /// back together.
  private static func jitter(
    _ ceiling: Duration, _ generator: inout some RandomNumberGenerator
  ) -> Duration {
    let parts = ceiling.components
    let nanoseconds = parts.seconds * 1_000_000_000 + parts.attoseconds / 1_000_000_000
    // One draw, scaled. `Int64.random` draws until it likes the bits, and hangs on a generator that
    // repeats itself.
    let scaled = generator.next().multipliedFullWidth(by: UInt64(nanoseconds) + 1).high
    return .nanoseconds(Int64(scaled))
  }
}

extension RetryState.Failure {
  /// - Parameters:
  ///   - silentHost: what is known of the host, when the error is that it gave no answer.
  ///   - hasAnswered: whether the transfer has had any answer.
  package init(
    _ error: TransferError, silentHost: HostHealth?, hasAnswered: Bool, isAttended: Bool
  ) {
    retryAfter = error.retryAfter
    isRetryable = error.isRetryable
    self.silentHost = silentHost
    self.isAttended = isAttended
    let isUnreachable = [.dns, .connect, .proxy].contains(error.code)
    isFirstContact =
      isAttended && isUnreachable && !hasAnswered && silentHost?.hasAnswered != true
  }
}
