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

  /// Decides after a failed attempt.
  ///
  /// - `progressed`: bytes that this attempt brought. Several attempts add up: a server that cuts every answer
  ///   off at 100 KiB is slow, not broken.
  /// - `remaining`: bytes that were missing when this attempt began; bringing a quarter of them counts, however few.
  /// - `retryAfter`: the server's wish; it takes the place of the back-off.
  /// - `isFirstContact`: nothing has answered yet, and the host is unknown or refuses: two retries within 3 s.
  package mutating func failed(
    at now: Instant, progressed bytes: Int64, remaining: Int64, retryAfter: Duration? = nil,
    isFirstContact: Bool = false, using generator: inout some RandomNumberGenerator
  ) -> Decision {
    noteProgress(bytes, of: remaining, at: now)
    var limit = policy.retries
    var deadline = lastProgress + policy.maximumTime
    if isFirstContact {
      let first = firstContactFailure ?? now
      firstContactFailure = first
      limit = min(limit, RetryPolicy.firstContactRetries)
      deadline = min(deadline, first + RetryPolicy.firstContactTime)
    }
    let attempt = attempts + 1
    guard attempt <= limit else { return .giveUp }
    let delay = retryAfter ?? Self.jitter(RetryPolicy.ceiling(ofAttempt: attempt), &generator)
    // Waiting past the deadline would only put off the news.
    guard now + delay <= deadline else { return .giveUp }
    attempts = attempt
    return .retry(after: delay, attempt: attempt)
  }

  /// Decides after a failed attempt by its error; one that is not retryable ends it.
  ///
  /// `hasAnswered` tells whether the transfer has had any answer yet.
  package mutating func failed(
    _ error: TransferError, hasAnswered: Bool, at now: Instant, progressed bytes: Int64,
    remaining: Int64, using generator: inout some RandomNumberGenerator
  ) -> Decision {
    guard error.isRetryable else { return .giveUp }
    let isUnreachable = [.dns, .connect, .proxy].contains(error.code)
    return failed(
      at: now, progressed: bytes, remaining: remaining, retryAfter: error.retryAfter,
      isFirstContact: isUnreachable && !hasAnswered, using: &generator)
  }

  private mutating func noteProgress(_ bytes: Int64, of remaining: Int64, at now: Instant) {
    guard bytes > 0 else { return }
    progressed = min(progressed, RetryPolicy.progressThatCounts) + bytes
    guard progressed >= RetryPolicy.progressThatCounts || bytes >= remaining / 4 else { return }
    attempts = 0
    progressed = 0
    lastProgress = now
  }

  /// Full jitter: anything from 0 to `ceiling`, so that clients that failed together do not come back together.
  private static func jitter(
    _ ceiling: Duration, _ generator: inout some RandomNumberGenerator
  ) -> Duration {
    let parts = ceiling.components
    let nanoseconds = parts.seconds * 1_000_000_000 + parts.attoseconds / 1_000_000_000
    // One draw, scaled. `Int64.random` draws until it likes the bits, and hangs on a generator that repeats itself.
    let scaled = generator.next().multipliedFullWidth(by: UInt64(nanoseconds) + 1).high
    return .nanoseconds(Int64(scaled))
  }
}
