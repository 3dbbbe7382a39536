/// Whether the schedule is open, by wall-clock time, and when to check again. It reads no clock
/// itself.
///
/// A wall clock may be set, or jump when a machine wakes up. So it is checked at least every
/// minute, timed by the monotonic clock, and each check is valid only between the ends of windows
/// that it found.
package struct ScheduleMonitor: Sendable {
  /// The longest time between checks.
  package static let period: Duration = .seconds(60)
  /// The most that two unchanged clocks may differ.
  static let drift: Duration = .milliseconds(500)
  /// The shortest time between checks, when the end of a window is near.
  static let shortest: Duration = .milliseconds(100)

  package private(set) var hours: LocalSchedule?
  /// Whether a check is needed: there is a schedule, or one was just removed.
  package private(set) var isNeeded: Bool
  /// Why nothing may start; nil while it may.
  package private(set) var closed: WaitReason?
  /// When to check again; nil without a schedule.
  package private(set) var nextLook: Instant?
  private var last: Look?

  private struct Look: Sendable {
    let instant: Instant
    /// From the wall time of the check to the start or the end of a window.
    let span: Range<Double>

    /// Whether a check now would find the same.
    func holds(at now: Instant, wallSeconds: Double) -> Bool {
      let passed = (now - instant) / .seconds(1)
      return span.contains(wallSeconds)
        && abs(wallSeconds - span.lowerBound - passed) < drift / .seconds(1)
    }
  }

  package init(_ hours: LocalSchedule? = nil) { (self.hours, isNeeded) = (hours, hours != nil) }

  package var isOpen: Bool { closed == nil }

  /// Another schedule, or none, counts from the next check on.
  package mutating func set(_ hours: LocalSchedule?) {
    (self.hours, last, nextLook) = (hours, nil, nil)
    isNeeded = hours != nil || closed != nil
  }

  /// Checks the schedule; O(1) while nothing has changed. Call it before anything starts, and at
  /// `nextLook`.
  package mutating func look(at now: Instant, wallSeconds: Double) {
    guard let hours else { return (closed, nextLook, isNeeded) = (nil, nil, false) }
    if let last, let nextLook, now < nextLook, last.holds(at: now, wallSeconds: wallSeconds) {
      return
    }
    let state = hours.state(at: Int64(wallSeconds.rounded(.down)))
    closed =
      state.isOpen
      ? nil
      : .schedule(
        Self.words(state.until.map { hours.words($0) }), until: state.until.map(Double.init))
    let end = state.until.map(Double.init) ?? .infinity
    last = Look(instant: now, span: wallSeconds..<max(end, wallSeconds))
    let left = end - wallSeconds
    nextLook = now + max(.seconds(min(left, Self.period / .seconds(1))), Self.shortest)
  }

  private static func words(_ opening: String?) -> String {
    opening.map { "outside the schedule until \($0)" }
      ?? "the schedule has no open window"
  }
}
