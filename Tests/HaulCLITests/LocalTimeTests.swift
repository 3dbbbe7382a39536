import HaulCLI
import HaulLibC
import Testing

/// Times of the command line.
@Suite struct LocalTimeTests {
  /// 2026-11-24 12:00 UTC.
  private let noon: Double = 1_795_521_600

  @Test func `an instant with a zone is the same everywhere`() throws {
    #expect(try LocalTime.seconds("2026-11-24T12:00Z", at: 0) == noon)
    #expect(try LocalTime.seconds("2026-11-24 12:00:30Z", at: 0) == noon + 30)
    #expect(try LocalTime.seconds("2026-11-24T14:30+02:30", at: 0) == noon)
    #expect(try LocalTime.seconds("2026-11-24T07:00-05:00", at: 0) == noon)
  }

  @Test func `a time of day is the next one, and is written back as it was given`() throws {
    for minute in stride(from: 0, to: 1440, by: 97) {
      let text = [minute / 60, minute % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
        .joined(separator: ":")
      let time = try LocalTime.seconds(text, at: noon)
      #expect(time > noon && time <= noon + 86_400)
      #expect(LocalTime.text(time).hasSuffix(" \(text)"))
    }
    let local = try LocalTime.seconds("2026-11-24T22:05", at: noon)
    #expect(LocalTime.text(local) == "2026-11-24 22:05")
    #expect(try LocalTime.seconds("22:05", at: local - 1) == local)
    #expect(try LocalTime.seconds("9:05", at: noon) == LocalTime.seconds("09:05", at: noon))
    #expect(try LocalTime.seconds("22:05:59", at: local) == local + 59)
    #expect(try LocalTime.seconds("22:05", at: local) > local, "not the present minute again")
  }

  @Test func `a time in the past is the last one, or so long ago`() throws {
    func past(_ text: String, at now: Double) throws -> Double {
      try LocalTime.past(text, of: "--since", at: now)
    }
    let local = try LocalTime.seconds("2026-11-24T22:05", at: noon)
    #expect(try past("22:05", at: local) == local && past("22:05", at: local + 3600) == local)
    #expect(try past("22:05", at: local - 1) < local - 80_000)
    #expect(try past("2h", at: noon) == noon - 7200 && past("7d", at: noon) == noon - 7 * 86_400)
    #expect(try past("2026-11-24T12:00Z", at: noon) == noon)
    for text in ["yesterday", "25:00", "-2h"] {
      let error = #expect(throws: UsageError.self) { try past(text, at: noon) }
      #expect(error?.message.hasPrefix("--since") == true, "\(error?.message ?? "")")
    }
  }

  @Test(arguments: [
    "", "now", "24:00", "12:60", "12:00:60", "1:0", "001:00", "9", "2026-13-01T00:00",
    "2026-02-29T00:00Z",
    "2026-11-24T24:00", "2026-11-24", "2026-11-24T12:00+99:00", "1950-01-01T00:00Z",
    "2026-11-24T12:00:61Z", "12:00Z",
  ])
  func `is refused when there is no such time`(text: String) {
    #expect(throws: UsageError.self) { try LocalTime.seconds(text, at: noon) }
  }
}
