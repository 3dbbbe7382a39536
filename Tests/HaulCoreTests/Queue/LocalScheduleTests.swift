import Foundation
import HaulCore
import Testing

/// When a schedule is open, with clocks that change. Times with a `Z` are UTC.
@Suite struct LocalScheduleTests {
  /// A time zone of the system.
  struct Zone: TimeZoneOffsets {
    let zone: TimeZone

    init(_ name: String) throws { zone = try #require(TimeZone(identifier: name)) }

    func offset(at seconds: Int64) -> Int64 {
      Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds))))
    }
  }

  private func hours(
    _ zone: String, _ windows: Schedule.Window...
  ) throws -> LocalSchedule { try LocalSchedule(Schedule(windows), at: Zone(zone)) }

  private func instant(_ text: String) throws -> Int64 {
    Int64(try Date(text, strategy: .iso8601).timeIntervalSince1970)
  }

  /// Checks that it is closed before the first of these times, and that it opens and closes at them
  /// in turn.
  private func expect(
    _ hours: LocalSchedule, from start: String, _ turns: String...,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    var (at, isOpen) = (try instant(start), false)
    for turn in turns {
      let state = hours.state(at: at)
      let until = state.until.map { Date(timeIntervalSince1970: Double($0)).formatted(.iso8601) }
      #expect(state.isOpen == isOpen, "before \(turn)", sourceLocation: sourceLocation)
      #expect(until == turn, sourceLocation: sourceLocation)
      (at, isOpen) = (try instant(turn), !isOpen)
    }
  }

  private static func minute(_ hour: Int, _ minute: Int = 0) -> Int { hour * 60 + minute }

  private let nights = Schedule.Window(.everyDay, from: minute(22), to: minute(6))
  private let early = Schedule.Window(.everyDay, from: minute(2), to: minute(3))

  @Test func `Windows of weekday nights and of a whole Sunday open and close on time`() throws {
    let workNights = Schedule.Window(.workdays, from: Self.minute(22), to: Self.minute(6))
    let sunday = Schedule.Window([.sunday], from: 0, to: Self.minute(24))
    let hours = try hours("Asia/Tokyo", workNights, sunday)
    // 2026-11-20 is a Friday; Tokyo is nine hours ahead.
    try expect(
      hours, from: "2026-11-20T09:00:00Z", "2026-11-20T13:00:00Z", "2026-11-20T21:00:00Z",
      "2026-11-21T15:00:00Z", "2026-11-22T15:00:00Z", "2026-11-23T13:00:00Z",
      "2026-11-23T21:00:00Z")
  }

  @Test func `A window in an hour that the clocks skip does not open that day`() throws {
    try expect(
      hours("Europe/Berlin", early), from: "2026-03-28T12:00:00Z", "2026-03-30T00:00:00Z",
      "2026-03-30T01:00:00Z")
    try expect(
      hours("America/New_York", early), from: "2026-03-07T12:00:00Z", "2026-03-09T06:00:00Z",
      "2026-03-09T07:00:00Z")
    let half = Schedule.Window(.everyDay, from: Self.minute(2), to: Self.minute(2, 30))
    try expect(
      hours("Australia/Lord_Howe", half), from: "2026-10-03T12:00:00Z", "2026-10-04T15:00:00Z",
      "2026-10-04T15:30:00Z")
    // Nor is it open if a week has one window, which is that hour.
    let once = Schedule.Window([.sunday], from: Self.minute(2), to: Self.minute(3))
    try expect(
      hours("Europe/Berlin", once), from: "2026-03-28T12:00:00Z", "2026-04-05T00:00:00Z",
      "2026-04-05T01:00:00Z")
  }

  @Test func `A window in an hour that the clocks repeat opens twice`() throws {
    try expect(
      hours("Europe/Berlin", early), from: "2026-10-24T12:00:00Z", "2026-10-25T00:00:00Z",
      "2026-10-25T02:00:00Z", "2026-10-26T01:00:00Z")
    let one = Schedule.Window(.everyDay, from: Self.minute(1), to: Self.minute(2))
    try expect(
      hours("America/New_York", one), from: "2026-10-31T12:00:00Z", "2026-11-01T05:00:00Z",
      "2026-11-01T07:00:00Z", "2026-11-02T06:00:00Z")
    // The first half of it, and the second half later.
    let half = Schedule.Window(.everyDay, from: Self.minute(2), to: Self.minute(2, 30))
    try expect(
      hours("Europe/Berlin", half), from: "2026-10-24T12:00:00Z", "2026-10-25T00:00:00Z",
      "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z", "2026-10-25T01:30:00Z",
      "2026-10-26T01:00:00Z")
    // Lord Howe's clock goes back by only half an hour.
    let late = Schedule.Window(.everyDay, from: Self.minute(1, 30), to: Self.minute(2))
    try expect(
      hours("Australia/Lord_Howe", late), from: "2026-04-04T12:00:00Z", "2026-04-04T14:30:00Z",
      "2026-04-04T15:30:00Z", "2026-04-05T15:00:00Z")
  }

  @Test func `A night with a clock change is shorter or longer`() throws {
    let berlin = try hours("Europe/Berlin", nights)
    try expect(
      berlin, from: "2026-03-28T12:00:00Z", "2026-03-28T21:00:00Z", "2026-03-29T04:00:00Z",
      "2026-03-29T20:00:00Z", "2026-03-30T04:00:00Z")
    try expect(
      berlin, from: "2026-10-24T12:00:00Z", "2026-10-24T20:00:00Z", "2026-10-25T05:00:00Z",
      "2026-10-25T21:00:00Z")
    try expect(
      hours("America/New_York", nights), from: "2026-10-31T12:00:00Z", "2026-11-01T02:00:00Z",
      "2026-11-01T11:00:00Z")
    try expect(
      hours("Australia/Lord_Howe", nights), from: "2026-04-04T09:00:00Z", "2026-04-04T11:00:00Z",
      "2026-04-04T19:30:00Z")
    try expect(
      hours("Asia/Tokyo", nights), from: "2026-03-28T09:00:00Z", "2026-03-28T13:00:00Z",
      "2026-03-28T21:00:00Z", "2026-03-29T13:00:00Z")
  }

  @Test func `Clock changes at midnight and skipped days are respected`() throws {
    let first = Schedule.Window([.sunday], from: 0, to: 30)
    try expect(
      hours("America/Sao_Paulo", first), from: "2018-11-03T12:00:00Z", "2018-11-11T02:00:00Z",
      "2018-11-11T02:30:00Z")
    let friday = Schedule.Window([.friday], from: 0, to: 0)
    try expect(
      hours("Pacific/Apia", friday), from: "2011-12-29T22:00:00Z", "2012-01-05T10:00:00Z",
      "2012-01-06T10:00:00Z")
  }

  @Test func `Windows that touch, overlap or cross the end of the week are merged`() throws {
    let hours = try hours(
      "UTC", .init([.sunday], from: Self.minute(20), to: 0), .init([.monday], from: 0, to: 60),
      .init([.monday], from: 30, to: 90), .init([.sunday], from: Self.minute(23), to: 10))
    try expect(
      hours, from: "2026-11-21T12:00:00Z", "2026-11-22T20:00:00Z", "2026-11-23T01:30:00Z",
      "2026-11-29T20:00:00Z")
  }

  @Test func `Schedules that are always or never open have no next change`() throws {
    let now = try instant("2026-03-28T12:00:00Z")
    let always = try hours("Europe/Berlin", .init(.everyDay, from: 0, to: 1440))
    #expect(always.state(at: now) == always.state(at: now + 86_400))
    #expect(always.state(at: now).isOpen && always.state(at: now).until == nil)
    let nearly = try hours("Europe/Berlin", .init(.everyDay, from: 600, to: 600))
    #expect(nearly.state(at: now).isOpen && nearly.state(at: now).until == nil)
    for none in [try hours("Europe/Berlin"), try hours("Europe/Berlin", .init([], from: 0, to: 9))]
    {
      #expect(!none.state(at: now).isOpen && none.state(at: now).until == nil)
    }
  }

  @Test func `A rate begins and ends with its window, and the lowest of several counts`() throws {
    let hours = try hours(
      "UTC", .init(.everyDay, from: 0, to: 1440),
      .init(.everyDay, from: 480, to: 1080, rateLimit: 500),
      .init(.everyDay, from: 600, to: 660, rateLimit: 300),
      .init(.everyDay, from: 630, to: 720, rateLimit: 900))
    var (at, seen) = (try instant("2026-11-20T07:00:00Z"), [String]())
    for _ in 0..<5 {
      let state = hours.state(at: at)
      guard case .open(let rate) = state.level, let until = state.until else { break }
      let time = Date(timeIntervalSince1970: Double(until)).formatted(.iso8601)
      seen.append("\(rate.map { "\($0)" } ?? "none") until \(time.dropFirst(11).prefix(5))")
      at = until
    }
    #expect(
      seen == [
        "none until 08:00", "500 until 10:00", "300 until 11:00", "500 until 18:00",
        "none until 08:00",
      ])
  }

  @Test(arguments: [0, -1])
  func `A window with a rate of nothing is refused`(rate: Int64) throws {
    let error = #expect(throws: TransferError.self) {
      try hours("UTC", .init(.everyDay, from: 0, to: 60, rateLimit: rate))
    }
    #expect(error?.code == .refused)
  }

  @Test(arguments: [(-1, 5), (1440, 5), (5, -1), (5, 1441)])
  func `A minute outside a day is refused`(from: Int, to: Int) throws {
    #expect(throws: TransferError.self) {
      _ = try hours("UTC", .init(.everyDay, from: from, to: to))
    }
  }

  @Test func `The opening time is shown in the schedule's time zone`() throws {
    var schedule = Schedule([nights])
    let instant = try instant("2026-03-29T20:00:00Z")
    let berlin = try Zone("Europe/Berlin")
    #expect(try LocalSchedule(schedule, at: berlin).text(instant) == "Sunday 22:00")
    schedule.timeZone = "Europe/Berlin"
    let text = try LocalSchedule(schedule, at: berlin).text(instant + 5 * 60)
    #expect(text == "Sunday 22:05 (Europe/Berlin)")
  }

  @Test(arguments: ["Europe/Berlin", "America/New_York", "Asia/Tokyo", "Australia/Lord_Howe"])
  func `The schedule agrees with a calendar in every minute`(name: String) throws {
    var generator = SplitMix64(seed: 25)
    let zone = try Zone(name)
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = zone.zone
    // These weeks contain both changes of every zone.
    let days = ["2026-03-07", "2026-03-28", "2026-04-04", "2026-10-03", "2026-10-24", "2026-10-31"]
    for start in days {
      let windows = (0..<3).map { _ in
        Schedule.Window(
          Set(Schedule.Weekday.allCases.shuffled(using: &generator).prefix(3)),
          from: Int.random(in: 0..<1440, using: &generator),
          to: Int.random(in: 0...1440, using: &generator),
          rateLimit: [nil, 100, 200].randomElement(using: &generator) ?? nil)
      }
      let hours = try LocalSchedule(Schedule(windows), at: zone)
      let first = try instant("\(start)T06:00:00Z")
      var expected = hours.state(at: first)
      for minute in 0..<(36 * 60) {
        let now = first + Int64(minute) * 60
        if now == expected.until { expected = hours.state(at: now) }
        let parts = calendar.dateComponents(
          [.weekday, .hour, .minute], from: Date(timeIntervalSince1970: Double(now)))
        let level = try Self.level(parts, windows)
        try #require(level == expected.level, "\(windows) at \(now)")
      }
    }
  }

  /// What the windows that began on this day or the day before allow at a time of day.
  private static func level(
    _ parts: DateComponents, _ windows: [Schedule.Window]
  ) throws -> LocalSchedule.Level {
    let (hour, minute) = (try #require(parts.hour), try #require(parts.minute))
    // A calendar's first day is Sunday, with the number 1.
    let today = (try #require(parts.weekday) + 5) % 7
    let time = hour * 60 + minute
    let open = windows.filter { window in
      let days = Set(window.days.map(\.rawValue))
      if window.to > window.from {
        return days.contains(today) && (window.from..<window.to).contains(time)
      }
      return days.contains(today) && time >= window.from
        || days.contains((today + 6) % 7) && time < window.to
    }
    return open.isEmpty ? .closed : .open(rateLimit: open.compactMap(\.rateLimit).min())
  }
}
