/// `Retry-After`: the pause that a server asks for (RFC 9110, section 10.2.3).
package enum RetryAfter {
  /// The longest wait, so that a time in the future can be computed.
  package static let maximum: Duration = .seconds(366 * 86_400)
  /// The longest wait where no time for retries limits it, and for a host's other transfers.
  package static let longestPause: Duration = .seconds(3600)

  /// The wait in `text`, at most the maximum; nil if it is no number of seconds and no date.
  ///
  /// A date in the past is a wait of 0, which shortens no backoff; anything longer means the
  /// maximum. `now` is wall time in seconds since 1970.
  package static func delay(_ text: String, now: Double) -> Duration? {
    if let date = HTTPDate(text, now: now) {
      return clamped(seconds: Double(date.secondsSince1970) - now)
    }
    var scanner = FieldScanner(text)
    scanner.skipWhitespace()
    let digits = scanner.takeRun(where: FieldScanner.isDigit)
    scanner.skipWhitespace()
    guard scanner.isAtEnd, !digits.isEmpty else { return nil }
    return FieldScanner.decimal(digits).map { min(.seconds($0), maximum) } ?? maximum
  }

  /// The wait that a response asks for; nil when it has no readable field or several that differ.
  package static func delay(_ headers: HeaderFields, now: Double) -> Duration? {
    let values = Set(headers.values(of: "Retry-After"))
    guard values.count == 1, let only = values.first else { return nil }
    return delay(only, now: now)
  }

  /// The wait in whole units, rounded up. What the maximum was made of is not known.
  static func text(_ wait: Duration) -> String {
    if wait >= maximum { return "a year or more" }
    let seconds = Int((wait / .seconds(1)).rounded(.up))
    let units = [(1, "s"), (60, "minutes"), (3600, "hours"), (86_400, "days")]
    let (size, name) = units.last { seconds >= 2 * $0.0 } ?? units[0]
    return "\((seconds + size - 1) / size) \(name)"
  }

  private static func clamped(seconds: Double) -> Duration {
    min(.seconds(min(max(seconds, 0), 1e9)), maximum)
  }
}
