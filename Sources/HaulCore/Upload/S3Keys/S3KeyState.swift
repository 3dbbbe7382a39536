/// When the keys of one source are asked for: once for all transfers, and again before they expire.
package struct S3KeyState: Sendable {
  package enum Step: Sendable, Hashable {
    case use(S3Keys)
    /// The caller asks, and reports how that ended.
    case ask
    /// Somebody else asks.
    case wait
  }

  private var keys: S3Keys?
  private var isAsking = false
  /// Whether the source has given keys before.
  private var hasAnswered = false
  /// Valid keys are not asked for again before this time.
  private var nextTime = -Double.infinity

  /// How long before their end keys are asked for, while they are still used, in seconds.
  private static let early = 300.0
  /// How long before their end they are no longer used.
  private static let late = 60.0
  private static let pause = 60.0

  package init() {}

  /// - Parameter now: in seconds since 1970.
  package mutating func next(at now: Double) -> Step {
    let rest = rest(at: now)
    if let keys, rest > Self.late, isAsking || rest > Self.early || now < nextTime {
      return .use(keys)
    }
    guard !isAsking else { return .wait }
    isAsking = true
    return .ask
  }

  /// Who has asked is done, or was stopped.
  /// - Returns: the keys to go on with, or why there are none. A source that has given keys before
  ///   may do so again.
  package mutating func ended(
    _ answer: Result<S3Keys, any Error>, at now: Double
  ) -> Result<S3Keys, any Error> {
    isAsking = false
    switch answer {
    case .success(let new): (keys, hasAnswered) = (new, true)
    case .failure(let error as TransferError):
      nextTime = now + Self.pause
      if let keys, rest(at: now) > Self.late { return .success(keys) }
      return .failure(hasAnswered ? error.retryable : error)
    case .failure: return answer
    }
    nextTime = now + Self.pause
    return answer
  }

  /// The store says that these have expired.
  package mutating func refused(_ credentials: S3Credentials) {
    if keys?.credentials == credentials { keys = nil }
  }

  /// How long the keys are valid, in seconds.
  private func rest(at now: Double) -> Double { keys.map { ($0.expiry ?? .infinity) - now } ?? 0 }
}
