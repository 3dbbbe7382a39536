/// When a transfer with a start time may start, by wall-clock time. It reads no clock itself.
///
/// A wall clock may be set, or jump when a machine wakes up. So the time is checked at least once a
/// minute of the monotonic clock.
package enum StartTime {
  /// The longest time between checks.
  package static let period: Duration = .seconds(60)
  /// The shortest one: the two clocks deviate a little.
  static let shortest: Duration = .milliseconds(10)

  /// When to check again; nil once it may start.
  /// - Parameters:
  ///   - time: the start time, in seconds since 1970.
  ///   - wallSeconds: the present time, also since 1970.
  package static func nextCheck(
    of time: Double, at now: Instant, wallSeconds: Double
  ) -> Instant? {
    guard time > wallSeconds else { return nil }
    return now + max(.seconds(min(time - wallSeconds, period / .seconds(1))), shortest)
  }
}
