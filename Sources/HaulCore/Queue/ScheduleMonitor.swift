/// Whether the schedule is open, with which rate, by wall-clock time, and when to check again. It
/// reads no clock itself.
///
/// A wall clock may be set, or jump when a machine wakes up. So the schedule is checked at least
/// once a minute of the monotonic clock, and at each start and end of a window.
package struct ScheduleMonitor: Sendable {
  /// The longest time between checks.
  package static let period: Duration = .seconds(60)
  /// The most by which the wall clock may deviate from the monotonic clock.
  static let drift: Duration = .milliseconds(500)
  /// The shortest time between checks, when the end of a window is near.
  static let shortest: Duration = .milliseconds(100)

  package private(set) var localSchedule: LocalSchedule?
  /// Whether a check is needed: there is a schedule, or one was just removed.
  package private(set) var isNeeded: Bool
  /// Why nothing may start; nil while it may.
  package private(set) var closedReason: WaitReason?
  /// Bytes per second that the open window allows; nil for no limit.
  package private(set) var rateLimit: Int64?
  /// When to check again; nil without a schedule.
  package private(set) var nextCheck: Instant?
  private var last: LastCheck?

  private struct LastCheck: Sendable {
    let instant: Instant
    /// From the wall time of the check to the start or the end of a window.
    let span: Range<Double>

    /// Whether a check now would have the same result.
    func holds(at now: Instant, wallSeconds: Double) -> Bool {
      let passed = (now - instant) / .seconds(1)
      return span.contains(wallSeconds)
        && abs(wallSeconds - span.lowerBound - passed) < drift / .seconds(1)
    }
  }

  package init(_ localSchedule: LocalSchedule? = nil) {
    (self.localSchedule, isNeeded) = (localSchedule, localSchedule != nil)
  }

  package var isOpen: Bool { closedReason == nil }

  /// Its state, for a log.
  package var note: String {
    guard case .schedule(let text, _)? = closedReason else {
      let rate = rateLimit.map { ", with at most \($0) bytes per second" } ?? ""
      return "a window of the schedule is open: transfers run\(rate)"
    }
    return "\(text): transfers wait"
  }

  /// Replaces or removes the schedule; this takes effect at the next check.
  package mutating func set(_ localSchedule: LocalSchedule?) {
    (self.localSchedule, last, nextCheck) = (localSchedule, nil, nil)
    isNeeded = localSchedule != nil || closedReason != nil || rateLimit != nil
  }

  /// Checks the schedule; O(1) while nothing has changed. Call it before anything starts, and at
  /// `nextCheck`.
  package mutating func check(at now: Instant, wallSeconds: Double) {
    guard let localSchedule else {
      (closedReason, rateLimit, nextCheck, isNeeded) = (nil, nil, nil, false)
      return
    }
    if let last, let nextCheck, now < nextCheck, last.holds(at: now, wallSeconds: wallSeconds) {
      return
    }
    let state = localSchedule.state(at: Int64(wallSeconds.rounded(.down)))
    closedReason =
      state.isOpen
      ? nil
      : .schedule(
        Self.text(state.until.map { localSchedule.text($0) }), until: state.until.map(Double.init)
      )
    rateLimit = state.rateLimit
    let end = state.until.map(Double.init) ?? .infinity
    last = LastCheck(instant: now, span: wallSeconds..<max(end, wallSeconds))
    let left = end - wallSeconds
    nextCheck = now + max(.seconds(min(left, Self.period / .seconds(1))), Self.shortest)
  }

  private static func text(_ opening: String?) -> String {
    opening.map { "outside the schedule until \($0)" }
      ?? "the schedule has no open window"
  }
}
