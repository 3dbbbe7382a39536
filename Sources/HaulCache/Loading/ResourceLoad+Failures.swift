import HaulCore
import NIOConcurrencyHelpers

/// What a failed fetch means for its requests, and for the next one.
extension ResourceLoad {
  /// A stale value if that is allowed, otherwise the failure. Both are noted, so that the server is
  /// not asked again at once, nor before the end of the pause that it asked for.
  func failed(
    _ error: TransferError, _ candidate: Candidate?, wait: Duration? = nil
  ) throws(ResourceError) -> Loaded {
    if Task.isCancelled || error.code == .cancelled { throw ResourceError(.cancelled) }
    let isDisconnected = error.status == nil && Self.disconnections.contains(error.code)
    let isServerFailure = error.status.map { Self.serverFailures.contains($0) } ?? isDisconnected
    let older =
      isServerFailure ? candidate.flatMap { stale($0, isDisconnected: isDisconnected) } : nil
    let failure = note(
      ResourceError(.transfer(error)), mayUseStale: older != nil, wait: wait,
      atLeast: min(error.retryAfter ?? .zero, RetryAfter.longestPause))
    guard let older else { throw failure }
    return older
  }

  /// A candidate that may be used though the server did not confirm it.
  func stale(_ candidate: Candidate, isDisconnected: Bool) -> Loaded? {
    guard mayBeUsedStale(candidate, isDisconnected: isDisconnected),
      let resource = try? resource(of: candidate)
    else { return nil }
    cache.counters.update { $0.stale += 1 }
    remember(resource)
    return Loaded(resource: resource)
  }

  func mayBeUsedStale(_ candidate: Candidate, isDisconnected: Bool) -> Bool {
    cache.mayBeUsedStale(
      freshness(of: candidate), for: directives, isDisconnected: isDisconnected)
  }

  /// Notes a failure, and returns it with the time of the next attempt.
  func note(
    _ error: ResourceError, mayUseStale: Bool, wait: Duration?, atLeast pause: Duration = .zero
  ) -> ResourceError {
    let failure = cache.state.withLockedValue { state in
      state.negative.note(
        KnownFailure(error: error, mayUseStale: mayUseStale), of: key, at: now,
        waits: cache.configuration.waits, wait: wait.map { $0 / .seconds(1) },
        atLeast: pause / .seconds(1))
    }
    return error.retrying(at: failure.retryAt)
  }

  /// How long a refusal holds: as its response says, at most an hour. Other failures wait longer
  /// each time.
  func wait(after response: ResourceResponse) -> Duration? {
    guard (400..<500).contains(response.status), response.status != 408, response.status != 429
    else { return nil }
    var defaults = Freshness.Defaults()
    defaults.fraction = 0
    defaults.lifetime = cache.configuration.refusalLifetime / .seconds(1)
    let freshness = Freshness(StoredResponse(response), defaults: defaults)
    let rest = freshness.lifetime - freshness.initialAge
    let shortest = cache.configuration.firstRetryDelay / .seconds(1)
    return .seconds(min(max(rest, shortest), 3600))
  }

  /// Statuses for which a stale response may stand in (RFC 5861, section 4).
  private static var serverFailures: [Int] { [500, 502, 503, 504] }

  /// Codes of a request that had no answer.
  private static var disconnections: [TransferError.Code] {
    [.dns, .connect, .connectionLost, .timeout, .stalled, .proxy]
  }
}

extension TransferError {
  /// The error of a response that has no resource.
  init(status: Int, headers: HeaderFields, now: Double) {
    let (code, reason): (Code, String) =
      switch status {
      case 304: (.protocolViolation, "the server answered 304 without a condition")
      case 401: (.unauthorized, "the server asks for credentials (401)")
      case 403: (.forbidden, "the server refuses access (403)")
      case 404, 410: (.notFound, "the server has no such resource (\(status))")
      case 429: (.rateLimited, "the server limits the rate of requests (429)")
      default: (.httpStatus, "the server answered with status \(status)")
      }
    self.init(
      code, reason, status: status, isRetryable: status >= 500 || status == 429 || status == 408,
      retryAfter: RetryAfter.delay(headers, now: now))
  }
}
