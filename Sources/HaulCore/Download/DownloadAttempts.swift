/// The attempts of a download: what they brought, and when the next one is made.
package struct DownloadAttempts: Sendable {
  /// Failures of fetches with one number count as one attempt.
  package private(set) var number = 0
  /// Whether the next attempt is awaited.
  package var isWaiting = false
  /// Whether the host has answered.
  package var hasAnswered = false
  /// The attempt in which bytes came last.
  private var lastDelivering: Int?
  /// The bytes there were at the last failure.
  private var received: Int64 = 0
  private let isAttended: Bool
  private var retry: RetryState
  /// For the delays. Its seed is drawn once: each draw of the system's may cost a system call.
  private var random: SplitMix64

  package init(
    _ policy: RetryPolicy, isAttended: Bool, now: Instant,
    using rng: inout some RandomNumberGenerator
  ) {
    self.isAttended = isAttended
    retry = RetryState(policy, startedAt: now)
    random = SplitMix64(seed: rng.next())
  }

  /// Attempts that brought nothing, since one brought enough.
  package var failures: Int { retry.attempts }
  /// How many times the usual time the next attempt may take to its first byte.
  package var patience: Int { retry.patience }
  /// The error of a download that gave up.
  package func last(_ error: TransferError) -> TransferError { retry.last(error) }
  /// Whether bytes have come since a failure was counted.
  package var hasDelivered: Bool { lastDelivering == number }

  package mutating func begin() { number += 1 }
  package mutating func noteDelivery() { lastDelivering = number }
  package mutating func forgetProgress() { received = 0 }

  /// - Parameters:
  ///   - unresponsiveHost: the health of the host, if it did not answer.
  ///   - isKept: whether the bytes count in the next attempt. Bytes that must be fetched again are
  ///     no progress; otherwise the retries would never end.
  package mutating func failed(
    _ error: TransferError, unresponsiveHost: HostHealth?, received: Int64, of length: Int64?,
    isKept: Bool, at now: Instant
  ) -> RetryState.Decision {
    let failure = RetryState.Failure(
      error, unresponsiveHost: unresponsiveHost, hasAnswered: hasAnswered, isAttended: isAttended,
      progressBytes: isKept ? received - self.received : 0,
      remaining: length.map { $0 - self.received } ?? .max)
    self.received = max(self.received, received)
    let decision = retry.failed(failure, at: now, using: &random)
    if case .retry = decision { isWaiting = true }
    return decision
  }
}
