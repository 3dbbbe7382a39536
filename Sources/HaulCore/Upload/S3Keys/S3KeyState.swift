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
  /// Whether the store has refused the keys without saying why.
  private var isDoubtful = false
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
    let isGood = rest > Self.early && !isDoubtful
    if let keys, rest > Self.late, isAsking || isGood || now < nextTime { return .use(keys) }
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
    case .success(let new): (keys, hasAnswered, isDoubtful) = (new, true, false)
    case .failure(let error as TransferError):
      (nextTime, isDoubtful) = (now + Self.pause, false)
      if let keys, rest(at: now) > Self.late { return .success(keys) }
      return .failure(hasAnswered ? error.retryable : error)
    case .failure: return answer
    }
    nextTime = now + Self.pause
    return answer
  }

  /// The store says that these have expired, or that it does not know them.
  package mutating func refused(_ credentials: S3Credentials) {
    if keys?.credentials == credentials { keys = nil }
  }

  /// The store refuses these, and does not say whether it knows them: new ones are asked for, but
  /// not for each of many forbidden objects.
  package mutating func doubted(_ credentials: S3Credentials, at now: Double) {
    if keys?.credentials == credentials, now >= nextTime { isDoubtful = true }
  }

  /// How long the keys are valid, in seconds.
  private func rest(at now: Double) -> Double { keys.map { ($0.expiry ?? .infinity) - now } ?? 0 }
}
