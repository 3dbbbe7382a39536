import HaulCore
import Testing

/// When to read the wall clock, and what is known between two checks.
@Suite struct ScheduleMonitorTests {
  /// A place whose clocks never change.
  private struct Greenwich: TimeZoneOffsets {
    func offset(at seconds: Int64) -> Int64 { 0 }
  }

  private let start = Instant(.seconds(100))
  /// 2026-11-21, a Saturday, 00:00 UTC.
  private let midnight = 1_795_219_200.0

  private func watch(_ windows: Schedule.Window...) throws -> ScheduleMonitor {
    ScheduleMonitor(try LocalSchedule(Schedule(windows), at: Greenwich()))
  }

  private func look(_ watch: inout ScheduleMonitor, after seconds: Double, wall: Double? = nil) {
    watch.check(at: start + .seconds(seconds), wallSeconds: midnight + (wall ?? seconds))
  }

  @Test func `A monitor without a schedule is open and never checks the clock`() {
    var watch = ScheduleMonitor()
    look(&watch, after: 0)
    #expect(watch.isOpen)
    #expect(watch.nextCheck == nil)
  }

  @Test func `The clock is checked every minute and whenever a window begins or ends`() throws {
    var watch = try watch(.init(.everyDay, from: 0, to: 2))
    look(&watch, after: 0)
    #expect(watch.isOpen)
    #expect(watch.nextCheck == start + .seconds(60))
    look(&watch, after: 70)
    #expect(watch.isOpen)
    #expect(watch.nextCheck == start + .seconds(120))
    look(&watch, after: 120)
    #expect(
      watch.closedReason
        == .schedule("outside the schedule until Sunday 00:00", until: midnight + 86_400))
    #expect(watch.nextCheck == start + .seconds(180))
    #expect(watch.note == "outside the schedule until Sunday 00:00: transfers wait")
  }

  @Test func `A check between two scheduled ones detects the end of a window`() throws {
    var watch = try watch(.init(.everyDay, from: 0, to: 1))
    look(&watch, after: 0)
    look(&watch, after: 59.9)
    #expect(watch.isOpen)
    look(&watch, after: 59.95, wall: 60)
    #expect(!watch.isOpen)
  }

  @Test func `A check between two scheduled ones detects a clock change`() throws {
    var watch = try watch(.init(.everyDay, from: 0, to: 2))
    look(&watch, after: 0)
    look(&watch, after: 10, wall: 115)
    #expect(watch.nextCheck == start + .seconds(15))
    look(&watch, after: 11, wall: 130)
    #expect(!watch.isOpen)
  }

  @Test func `A check that comes slightly early is repeated at once`() throws {
    var watch = try watch(.init(.everyDay, from: 0, to: 1))
    look(&watch, after: 60, wall: 59.999)
    #expect(watch.isOpen)
    let next = try #require(watch.nextCheck)
    #expect(next > start + .seconds(60) && next < start + .seconds(61))
  }

  @Test(arguments: [(-3600.0, false), (3600.0, false), (30.0, true)])
  func `A clock change is detected at the next scheduled check`(
    jump: Double, isOpen: Bool
  ) throws {
    var watch = try watch(.init(.everyDay, from: 0, to: 10))
    look(&watch, after: 0)
    look(&watch, after: 60, wall: 60 + jump)
    #expect(watch.isOpen == isOpen)
  }

  @Test func `A new schedule applies from the next check, and removing it opens the queue`() throws
  {
    var watch = try watch(.init(.everyDay, from: 0, to: 10))
    look(&watch, after: 0)
    watch.set(try LocalSchedule(Schedule([]), at: Greenwich()))
    look(&watch, after: 1)
    #expect(
      watch.closedReason
        == .schedule("the schedule has no open window", until: nil))
    watch.set(nil)
    look(&watch, after: 2)
    #expect(watch.isOpen)
    #expect(watch.nextCheck == nil)
  }
}
