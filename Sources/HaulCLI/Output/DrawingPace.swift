package import HaulCore

/// How often a terminal is drawn to: one that takes long to take a drawing, such as a slow line to
/// another machine, gets fewer.
package struct DrawingPace: Hashable, Sendable {
  /// A terminal that takes a drawing in this time is fast.
  private static let fast: Duration = .milliseconds(20)
  /// At most this part of the time is spent with drawing.
  private static let share = 5
  private static let longest: Duration = .seconds(2)
  private var next: Instant?

  package init() {}

  package func isDue(at now: Instant) -> Bool { next.map { $0 <= now } ?? true }

  /// Takes note of how long a drawing took that has just ended.
  package mutating func note(_ duration: Duration, at now: Instant) {
    next = duration > Self.fast ? now + min(duration * (Self.share - 1), Self.longest) : nil
  }
}
