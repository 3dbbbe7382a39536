/// When a failed attempt is retried.
///
/// Attempts are counted since the last progress of at least 256 KiB, or of a quarter of the missing
/// bytes. While a host does not answer, its transfers wait together: one tries at a time, and only
/// that one counts an attempt.
public struct RetryPolicy: Sendable, Hashable, Codable {
  /// Attempts after the first; 0 disables retries.
  public var retries = 8
  /// The longest time without progress before giving up.
  public var maximumTimeWithoutProgress: Duration = .seconds(3600)

  /// Whether a host that has not yet answered gets fewer retries, if a person waits.
  package var isShortAtFirstContact = true

  /// The default policy.
  public init() {}
}

extension RetryPolicy {
  /// Progress that resets the count of attempts, in bytes.
  package static let progressThatCounts: Int64 = 256 << 10
  /// Retries before the first answer if a person waits: a wrong name or port is likelier than a
  /// temporary failure.
  package static let firstContactRetries = 2
  /// The time for those retries, from the first failure on.
  package static let firstContactTime: Duration = .seconds(3)

  /// The longest wait before retry `attempt` (from 1): 0.5 s, doubled each time, at most 60 s.
  package static func ceiling(ofAttempt attempt: Int) -> Duration {
    let doublings = min(max(attempt - 1, 0), 7)
    return min(.milliseconds(500) * (1 << doublings), .seconds(60))
  }
}
