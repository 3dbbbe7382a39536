import HaulCore
import Testing

/// When to look at the clock on the wall, and what is known between two looks.
@Suite struct ScheduleMonitorTests {
  /// A place that never changes its clocks.
  private struct Greenwich: LocalTime {
    func offset(at seconds: Int64) -> Int64 { 0 }
  }

  private let start = Instant(.seconds(100))
  /// 2026-11-21, a Saturday, 00:00 UTC.
  private let midnight = 1_795_219_200.0

  private func watch(_ windows: Schedule.Window...) throws -> ScheduleMonitor {
    ScheduleMonitor(try LocalSchedule(Schedule(windows), at: Greenwich()))
  }

  private func look(_ watch: inout ScheduleMonitor, after seconds: Double, wall: Double? = nil) {
    watch.look(at: start + .seconds(seconds), wallSeconds: midnight + (wall ?? seconds))
  }

  @Test func `Without a schedule it is open, and nobody looks`() {
    var watch = ScheduleMonitor()
    look(&watch, after: 0)
    #expect(watch.isOpen)
    #expect(watch.nextLook == nil)
  }

  @Test func `It looks every minute, and when a window begins or ends`() throws {
    var watch = try watch(.init(.everyDay, from: 0, to: 2))
    look(&watch, after: 0)
    #expect(watch.isOpen)
    #expect(watch.nextLook == start + .seconds(60))
    look(&watch, after: 70)
    #expect(watch.isOpen)
    #expect(watch.nextLook == start + .seconds(120))
    look(&watch, after: 120)
    #expect(
      watch.closed
        == .schedule("outside the schedule until Sunday 00:00", until: midnight + 86_400))
    #expect(watch.nextLook == start + .seconds(180))
  }

  @Test func `Asked between two looks it knows that a window has ended`() throws {
    var watch = try watch(.init(.everyDay, from: 0, to: 1))
    look(&watch, after: 0)
    look(&watch, after: 59.9)
    #expect(watch.isOpen)
    look(&watch, after: 59.95, wall: 60)
    #expect(!watch.isOpen)
  }

  @Test func `Asked between two looks it sees that the clock was set, and that the end is near`()
    throws
  {
    var watch = try watch(.init(.everyDay, from: 0, to: 2))
    look(&watch, after: 0)
    look(&watch, after: 10, wall: 115)
    #expect(watch.nextLook == start + .seconds(15))
    look(&watch, after: 11, wall: 130)
    #expect(!watch.isOpen)
  }

  @Test func `A look that comes a little early is followed by another at once`() throws {
    var watch = try watch(.init(.everyDay, from: 0, to: 1))
    look(&watch, after: 60, wall: 59.999)
    #expect(watch.isOpen)
    let next = try #require(watch.nextLook)
    #expect(next > start + .seconds(60) && next < start + .seconds(61))
  }

  @Test(arguments: [(-3600.0, false), (3600.0, false), (30.0, true)])
  func `A clock that is set is seen with the next look at the latest`(
    jump: Double, isOpen: Bool
  ) throws {
    var watch = try watch(.init(.everyDay, from: 0, to: 10))
    look(&watch, after: 0)
    look(&watch, after: 60, wall: 60 + jump)
    #expect(watch.isOpen == isOpen)
  }

  @Test func `Another schedule holds with the next look, and none does`() throws {
    var watch = try watch(.init(.everyDay, from: 0, to: 10))
    look(&watch, after: 0)
    watch.set(try LocalSchedule(Schedule([]), at: Greenwich()))
    look(&watch, after: 1)
    #expect(
      watch.closed
        == .schedule("the schedule has no open window", until: nil))
    watch.set(nil)
    look(&watch, after: 2)
    #expect(watch.isOpen)
    #expect(watch.nextLook == nil)
  }
}
