/// The failures of a segment, or of a whole transfer, so far.
package struct RetryState: Hashable, Sendable {
  package enum Decision: Hashable, Sendable {
    /// Retry after a wait; `attempt` counts the retries since the last progress, from 1.
    case retry(after: Duration, attempt: Int)
    case giveUp
  }

  /// Retries since the last progress that counted.
  package private(set) var attempts = 0
  private let policy: RetryPolicy
  /// When there was progress that counted, or the start.
  private var lastProgress: Instant
  private var progressBytes: Int64 = 0
  /// Retries since then after an attempt that got nothing for too long.
  private var silences = 0
  private var firstContactFailure: Instant?
  /// The wait that the server asked for after the last attempt, if it was too long.
  private var refusedWait: Duration?

  package init(_ policy: RetryPolicy, startedAt start: Instant) {
    self.policy = policy
    lastProgress = start
  }

  /// A failed attempt.
  package struct Failure: Sendable {
    /// Bytes that it received. The bytes of several attempts add up: a server that cuts every
    /// answer off at 100 KiB is slow, not broken.
    package var progressBytes: Int64 = 0
    /// Bytes that were missing when it began; a quarter of them counts as progress, however few.
    package var remaining = Int64.max
    /// The wait that the server asked for; it may lengthen the backoff.
    package var retryAfter: Duration?
    /// Whether it ended because nothing came.
    package var isSilence = false
    /// The health of a host that did not answer; nil if it answered.
    package var unresponsiveHost: HostHealth?
    /// Whether a person waits for it: then attempts of all transfers of a silent host count, so
    /// that it fails soon.
    package var isAttended = false
    /// Whether there was no answer yet, so that the name or port is probably wrong. Then there are
    /// two retries, within 3 s.
    package var isFirstContact = false
    package var isRetryable = true

    package init() {}
  }

  /// Decides after a failed attempt.
  package mutating func failed(
    _ failure: Failure, at now: Instant, using generator: inout some RandomNumberGenerator
  ) -> Decision {
    guard failure.isRetryable else { return .giveUp }
    noteProgress(failure.progressBytes, of: failure.remaining, at: now)
    if failure.isSilence { silences += 1 }
    var limit = policy.retries
    var deadline = lastProgress + policy.maximumTimeWithoutProgress
    if failure.isFirstContact, policy.isShortAtFirstContact {
      let first = failure.unresponsiveHost?.since ?? firstContactFailure ?? now
      firstContactFailure = first
      limit = min(limit, RetryPolicy.firstContactRetries)
      deadline = min(deadline, first + RetryPolicy.firstContactTime)
    }
    let attempt = attempts + 1
    let attemptOfHost = (failure.unresponsiveHost?.failures ?? 0) + 1
    guard (failure.isAttended ? max(attempt, attemptOfHost) : attempt) <= limit else {
      return .giveUp
    }
    let ceiling = RetryPolicy.ceiling(ofAttempt: max(attempt, attemptOfHost))
    // Transfers of a silent host already try one at a time, so half of the delay is not random.
    let least = failure.unresponsiveHost == nil ? .zero : ceiling / 2
    let backoff = least + Self.jitter(ceiling - least, &generator)
    // A busy server that says 0, or a date that is over here, would get all attempts at once.
    let delay = max(backoff, failure.retryAfter ?? .zero)
    // Waiting past the deadline would only delay the failure.
    guard now + delay <= deadline else {
      refusedWait = delay > backoff ? delay : nil
      return .giveUp
    }
    attempts = attempt
    return .retry(after: delay, attempt: attempt)
  }

  /// How many times the usual time the next attempt may take to its first byte: a server that
  /// prepares the file, or a proxy that examines it first, begins anew with each request.
  package var patience: Int { 1 << min(silences, 5) }

  /// The error of a transfer that gave up: with its number of attempts, and with the wait that the
  /// server asked for, if that is the reason.
  package func last(_ error: TransferError) -> TransferError {
    let error = error.after(attempts: attempts + 1)
    guard let wait = refusedWait else { return error }
    return error.changing { parts in
      parts.fact += ", and asks to wait \(RetryAfter.text(wait))"
      parts.advice =
        "that is longer than this transfer waits; try again then, or let it wait longer"
      parts.remedy = .longerWait
    }
  }

  private mutating func noteProgress(_ bytes: Int64, of remaining: Int64, at now: Instant) {
    guard bytes > 0 else { return }
    progressBytes = min(progressBytes, RetryPolicy.progressThatCounts) + bytes
    guard progressBytes >= RetryPolicy.progressThatCounts || bytes >= remaining / 4 else { return }
    (attempts, silences) = (0, 0)
    progressBytes = 0
    lastProgress = now
  }

  /// Full jitter: from 0 to `ceiling`, so that clients that failed together do not retry together.
  private static func jitter(
    _ ceiling: Duration, _ generator: inout some RandomNumberGenerator
  ) -> Duration {
    let parts = ceiling.components
    let nanoseconds = parts.seconds * 1_000_000_000 + parts.attoseconds / 1_000_000_000
    // One draw, scaled: `Int64.random` may draw again, and would hang on a constant generator.
    let scaled = generator.next().multipliedFullWidth(by: UInt64(nanoseconds) + 1).high
    return .nanoseconds(Int64(scaled))
  }
}

extension RetryState.Failure {
  /// - Parameters:
  ///   - unresponsiveHost: the health of the host, if the error is that it did not answer.
  ///   - hasAnswered: whether the transfer has had an answer.
  ///   - progressBytes: the bytes that the attempt transferred.
  ///   - remaining: those that were missing when it began.
  package init(
    _ error: TransferError, unresponsiveHost: HostHealth?, hasAnswered: Bool, isAttended: Bool,
    progressBytes: Int64 = 0, remaining: Int64 = .max
  ) {
    self.progressBytes = progressBytes
    self.remaining = remaining
    retryAfter = error.retryAfter
    isRetryable = error.isRetryable
    isSilence = [.timeout, .stalled].contains(error.code)
    self.unresponsiveHost = unresponsiveHost
    self.isAttended = isAttended
    let isUnreachable = [.dns, .connect, .proxy].contains(error.code)
    isFirstContact =
      isAttended && isUnreachable && !hasAnswered && unresponsiveHost?.hasAnswered != true
  }
}
