/// What a stored response may be used for now (RFC 9111, section 4).
package enum FreshnessUse: Hashable, Sendable {
  /// For an answer without the server.
  case fresh
  /// For an answer, while the server is asked for the next one.
  case staleWhileRevalidating
  /// For an answer once the server has confirmed it.
  case afterValidation
}

extension Freshness {
  /// - Parameters:
  ///   - now: wall time in seconds since 1970.
  ///   - request: the directives of the request (section 5.2.1).
  package func use(at now: Double, for request: CacheControl) -> FreshnessUse {
    guard let staleness = staleness(at: now), let age = age(at: now) else {
      return .afterValidation
    }
    if request.noCache || request.maxAge.map({ age > Double($0) }) == true {
      return .afterValidation
    }
    if let minFresh = request.minFresh, -staleness < Double(minFresh) { return .afterValidation }
    if staleness < 0 { return .fresh }
    if let maxStale = request.maxStale, !mustRevalidate, staleness <= Double(maxStale) {
      return .fresh
    }
    return staleness < staleWhileRevalidate ? .staleWhileRevalidating : .afterValidation
  }

  /// Whether it may be used though the server could not confirm it (section 4.2.4).
  /// - Parameters:
  ///   - isDisconnected: whether there was no answer at all.
  ///   - staleWhenDisconnected: the longest staleness that is allowed then.
  package func mayBeUsedStale(
    at now: Double, isDisconnected: Bool, staleWhenDisconnected: Double
  ) -> Bool {
    guard !mustRevalidate, let staleness = staleness(at: now) else { return false }
    if let staleIfError, staleness < staleIfError { return true }
    return isDisconnected && staleness < staleWhenDisconnected
  }
}
