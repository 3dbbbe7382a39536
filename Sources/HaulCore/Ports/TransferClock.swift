/// A point in monotonic time, since the start of the clock.
package struct Instant: Hashable, Comparable, Sendable {
  package let sinceStart: Duration

  package init(_ sinceStart: Duration = .zero) { self.sinceStart = sinceStart }

  package static func < (left: Instant, right: Instant) -> Bool {
    left.sinceStart < right.sinceStart
  }
  package static func + (left: Instant, right: Duration) -> Instant {
    Instant(left.sinceStart + right)
  }
  package static func - (left: Instant, right: Instant) -> Duration {
    left.sinceStart - right.sinceStart
  }
}

/// Time, as a port: monotonic for every decision, wall time only for HTTP dates and display.
package protocol TransferClock: Sendable {
  var now: Instant { get }
  /// Seconds since 1970.
  var wallSeconds: Double { get }
  /// Returns at `instant`, or throws `CancellationError` if the task is cancelled first.
  func sleep(until instant: Instant) async throws
}
