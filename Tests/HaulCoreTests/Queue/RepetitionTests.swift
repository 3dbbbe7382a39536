import HaulCore
import HaulTesting
import Testing

/// When a repeating transfer runs next.
@Suite struct RepetitionTests {
  /// The clock of a place whose summer time begins and ends at these instants.
  private struct Zone: TimeZoneOffsets {
    var forward: Int64 = .max
    var back: Int64 = .max

    func offset(at seconds: Int64) -> Int64 { seconds >= forward && seconds < back ? 3600 : 0 }
  }

  /// Monday 00:00 UTC.
  private static let monday: Double = 4 * 86_400
  private static let hour = 3600.0

  private func repetition(_ text: String) throws -> Repetition {
    try #require(Repetition(text), "\(text)")
  }

  @Test(arguments: [
    ("30m", "30m"), ("60s", "1m"), ("90m", "90m"), ("24h", "1d"), ("36h", "36h"), ("7d", "7d"),
    ("daily 03:00", "daily 03:00"), ("mon-sun 00:00", "daily 00:00"),
    ("daily 3:00", "daily 03:00"), ("mon 6", "mon 06:00"),
    ("mon-wed,sat 23:59", "mon,tue,wed,sat 23:59"), ("Fri-Mon 06:00", "mon,fri,sat,sun 06:00"),
  ])
  func `its words`(text: String, shown: String) throws {
    #expect(try repetition(text).text == shown)
    #expect(try repetition(shown) == repetition(text))
  }

  @Test(arguments: [
    "", "1", "0m", "59s", "-1h", "+1h", "1.5h", "1w", "h", "99999999999999999999d", "3651d",
    "daily",
    "daily 24:00", "mon 006:00", "mon 6:0", "mon 6:", "06:00", "mon 25", "mon 06:00-07:00",
    "someday 06:00", "1d from", "1d from x",
    "1d from -1", "1d from 1 from 2", "1d from nan", "1 d",
  ])
  func `other words are none`(text: String) { #expect(Repetition(text) == nil) }

  @Test func `the stored text keeps when the intervals began`() throws {
    var interval = try repetition("12h")
    interval.start = 1_900_000_000.5
    #expect(interval.storedText == "12h from 1900000000.5")
    #expect(Repetition(interval.storedText) == interval)
    #expect(interval.text == "12h" && interval.isSame(as: Repetition("720m")))
    #expect(!interval.isSame(as: Repetition("13h")) && !interval.isSame(as: nil))
  }

  @Test func `an interval counts from its start, not from the end of a run`() throws {
    let hourly = try repetition("1h from 1000")
    #expect(hourly.next(after: 1000, at: Zone()) == 4600)
    #expect(hourly.next(after: 4599.9, at: Zone()) == 4600)
    // A run that began at 4600 and took 20 minutes.
    #expect(hourly.next(after: 4600 + 1200, at: Zone()) == 8200)
    // A run that took more than an interval: the time in between is skipped.
    #expect(hourly.next(after: 8200 + 4000, at: Zone()) == 15_400)
    // The program was off for a year: there is one next time.
    #expect(hourly.next(after: 1000 + 31_536_000, at: Zone()) == 31_540_600)
    #expect(hourly.next(after: 10, at: Zone()) == 1000, "it has not begun")
  }

  @Test func `a time of day is the next one on one of its days`() throws {
    let (monday, hour) = (Self.monday, Self.hour)
    let workdays = try repetition("mon-fri 06:00")
    #expect(workdays.next(after: monday, at: Zone()) == monday + 6 * hour)
    // At that instant, and within its minute, the next one is tomorrow.
    #expect(workdays.next(after: monday + 6 * hour, at: Zone()) == monday + 30 * hour)
    #expect(workdays.next(after: monday + 6 * hour + 30, at: Zone()) == monday + 30 * hour)
    #expect(workdays.next(after: monday + 4 * 86_400 + 7 * hour, at: Zone()) == monday + 174 * hour)
    let midnight = try repetition("daily 23:59")
    #expect(midnight.next(after: monday, at: Zone()) == monday + 86_400 - 60)
  }

  @Test func `summer time moves a time of day with the clock, and an interval not`() throws {
    let (monday, hour) = (Self.monday, Self.hour)
    // The clock goes forward at 01:00 of Monday.
    let zone = Zone(forward: Int64(monday + hour))
    let six = try repetition("daily 06:00")
    #expect(six.next(after: monday, at: zone) == monday + 5 * hour)
    var daily = try repetition("1d")
    daily.start = monday - 12 * hour
    #expect(daily.next(after: monday, at: zone) == monday + 12 * hour)
    // 01:30 is skipped on that day, as a window of the schedule would be.
    let skipped = try repetition("daily 01:30")
    #expect(skipped.next(after: monday, at: zone) == monday + 24.5 * hour)
    // The clock goes back from 02:00 to 01:00: it shows 01:30 twice.
    let back = Zone(forward: 0, back: Int64(monday + hour))
    let twice = try repetition("mon 01:30")
    #expect(twice.next(after: monday - hour, at: back) == monday + 0.5 * hour)
    #expect(twice.next(after: monday + 0.5 * hour, at: back) == monday + 1.5 * hour)
  }

  @Test func `only a download that updates its file can be repeated`() throws {
    func refusal(_ change: (inout DownloadRequest) -> Void) throws -> String? {
      var request = TransferRequest.download(
        try ResourceURL("http://h/x"), to: .directory("/d"), change)
      request.repetition = .every(.seconds(60))
      do throws(TransferError) {
        try request.checkRepetition()
        return nil
      } catch {
        #expect(error.code == .notYetSupported)
        return error.fact
      }
    }
    #expect(try refusal { _ in } == nil)
    #expect(try refusal { $0.destination = .file("/d/x") } == nil)
    #expect(try refusal { $0.ifExists = .skip }?.contains("if-exists") == true)
    #expect(try refusal { $0.ifExists = .rename } != nil)
    #expect(try refusal { $0.ifExists = .overwrite } != nil)
    #expect(try refusal { $0.startOver = true } != nil)
    let digests = [try #require(Checksum("crc32c=00000000"))]
    #expect(try refusal { $0.checksums = digests } != nil)
    #expect(try refusal { $0.destination = .stream } != nil)
    for var request in [
      TransferRequest.upload("/f", to: try ResourceURL("http://h/x")), .step(program: ["true"]),
    ] {
      try request.checkRepetition()
      request.repetition = .at(minute: 60)
      #expect(throws: TransferError.self) { try request.checkRepetition() }
    }
  }

  @Test func `the constructors keep within the bounds`() {
    #expect(Repetition.every(.seconds(1)).text == "1m")
    #expect(Repetition.every(.seconds(86_400 * 10_000)).text == "3650d")
    #expect(Repetition.at(minute: 5000).text == "daily 23:59")
    #expect(Repetition.at(minute: -1, on: []).text == "daily 00:00")
    #expect(Repetition.at(minute: 375, on: .workdays).text == "mon,tue,wed,thu,fri 06:15")
  }
}
