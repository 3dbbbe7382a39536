/// Whether the schedule lets transfers run, as the clock on the wall has it, and when to look
/// again. It looks at no clock itself.
///
/// A clock on the wall may be set, or jump when a machine wakes up. So it is not trusted to reach
/// an end of a window: there is a look at least every minute, by the other clock, and what is known
/// from the last one holds only between the ends that it found.
package struct ScheduleMonitor: Sendable {
  /// From one look to the next, at most.
  package static let period: Duration = .seconds(60)
  /// So much two clocks may differ that nobody has set.
  static let drift: Duration = .milliseconds(500)
  /// From one look to the next, at least, when an end of a window is near.
  static let shortest: Duration = .milliseconds(100)

  package private(set) var hours: LocalSchedule?
  /// Whether there is something to look for: a schedule, or that there is none any more.
  package private(set) var isNeeded: Bool
  /// Why nothing may start; nil while it may.
  package private(set) var closed: WaitReason?
  /// When to look again; nil without a schedule.
  package private(set) var nextLook: Instant?
  private var last: Look?

  private struct Look: Sendable {
    let instant: Instant
    /// From the time that the clock on the wall told to the end of the window, or its beginning.
    let span: Range<Double>

    /// Whether a look now would find the same.
    func holds(at now: Instant, wallSeconds: Double) -> Bool {
      let passed = (now - instant) / .seconds(1)
      return span.contains(wallSeconds)
        && abs(wallSeconds - span.lowerBound - passed) < drift / .seconds(1)
    }
  }

  package init(_ hours: LocalSchedule? = nil) { (self.hours, isNeeded) = (hours, hours != nil) }

  package var isOpen: Bool { closed == nil }

  /// Another schedule, or none, holds from the next look on.
  package mutating func set(_ hours: LocalSchedule?) {
    (self.hours, last, nextLook) = (hours, nil, nil)
    isNeeded = hours != nil || closed != nil
  }

  /// Looks at what the clocks tell; O(1) before there is something new. Call it before anything
  /// starts, and at `nextLook`.
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
