import HaulCore

/// How long a stored response may be used without asking the server (RFC 9111, section 4.2).
/// Times are in seconds.
package struct Freshness: Hashable, Sendable {
  /// What a cache may assume if the response does not say how long it is fresh (section 4.2.2).
  package struct Defaults: Hashable, Sendable {
    /// The part of the time since `Last-Modified`.
    package var fraction = 0.1
    /// The longest time that is derived from `Last-Modified`.
    package var maximum: Double = 86_400
    /// The time without `Last-Modified`.
    package var lifetime: Double = 300

    package init() {}
  }

  package let answeredAt: Double
  /// The age that it had when it arrived (section 4.2.3).
  package let initialAge: Double
  package let lifetime: Double
  /// How long after that it may be used while it is validated (RFC 5861, section 3).
  package let staleWhileRevalidate: Double
  /// How long after that it may be used when the server fails (RFC 5861, section 4); nil if the
  /// server does not say.
  package let staleIfError: Double?
  /// Whether it may never be used stale (sections 5.2.2.2 and 5.2.2.4).
  package let mustRevalidate: Bool

  package init(_ response: StoredResponse, defaults: Defaults) {
    let control = CacheControl(response.headers)
    answeredAt = response.answeredAt
    initialAge = Self.initialAge(response)
    lifetime = control.noCache ? 0 : Self.lifetime(response, control, defaults)
    mustRevalidate = control.noCache || control.mustRevalidate
    staleWhileRevalidate = mustRevalidate ? 0 : Double(control.staleWhileRevalidate ?? 0)
    staleIfError = control.staleIfError.map(Double.init)
  }

  /// The present age; nil if the clock was set back, so that nobody knows.
  package func age(at now: Double) -> Double? {
    now < answeredAt ? nil : initialAge + (now - answeredAt)
  }

  /// Seconds since it became stale, negative while it is fresh; nil if nobody knows.
  package func staleness(at now: Double) -> Double? { age(at: now).map { $0 - lifetime } }
}

extension Freshness {
  private static func initialAge(_ response: StoredResponse) -> Double {
    let apparent = date(response).map { max(0, response.answeredAt - $0) } ?? 0
    let stated = response.headers["Age"].flatMap { value in
      DeltaSeconds.read(
        value.byteSplit { ", \t".utf8.contains($0) }.first.map(String.init))
    }
    let delay = max(0, response.answeredAt - response.requestedAt)
    return max(apparent, Double(stated ?? 0) + delay)
  }

  /// `max-age`, then `Expires`, then a guess (section 4.2.1). `s-maxage` is for shared caches.
  private static func lifetime(
    _ response: StoredResponse, _ control: CacheControl, _ defaults: Defaults
  ) -> Double {
    if let maxAge = control.maxAge { return Double(maxAge) }
    let sent = date(response) ?? response.answeredAt
    if response.headers["Expires"] != nil {
      // One that cannot be read, such as 0, is in the past (section 5.3).
      guard let expires = seconds(response.headers.single("Expires"), response) else { return 0 }
      return max(0, expires - sent)
    }
    guard response.headers["Last-Modified"] != nil else { return defaults.lifetime }
    guard let modified = seconds(response.headers.single("Last-Modified"), response) else {
      return 0
    }
    return min(max(0, sent - modified) * defaults.fraction, defaults.maximum)
  }

  private static func date(_ response: StoredResponse) -> Double? {
    seconds(response.headers.single("Date"), response)
  }

  private static func seconds(_ text: String?, _ response: StoredResponse) -> Double? {
    text.flatMap { HTTPDate($0, now: response.answeredAt) }.map { Double($0.secondsSince1970) }
  }
}
