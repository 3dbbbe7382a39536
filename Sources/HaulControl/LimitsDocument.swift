package import HaulCore

/// `GET /api/v1/limits`, and the body of `PATCH /api/v1/limits`: keys that are left out are kept.
package struct LimitsDocument: Codable, Hashable, Sendable {
  /// Transfers in all, and of one host.
  package var active: Int?
  /// 0 for no limit but `active`.
  package var activePerHost: Int?
  /// Connections to one host, and in all.
  package var connectionsPerHost: Int?
  package var connections: Int?
  /// Bytes per second; 0 for no limit.
  package var rate: Int64?
  /// When transfers run; empty for always.
  package var schedule: [Window]?

  package struct Window: Codable, Hashable, Sendable {
    /// `monday` to `sunday`.
    package var days: [String]
    /// As `22:00`. An end before the beginning is on the next day.
    package var from: String
    package var to: String
    /// Bytes per second of all transfers together while it is open; nil for no limit of its own.
    package var rate: Int64?

    enum CodingKeys: String, CodingKey { case days, from, to, rate }
  }

  enum CodingKeys: String, CodingKey {
    case active, connections, rate, schedule
    case activePerHost = "active_per_host"
    case connectionsPerHost = "connections_per_host"
  }

  package init() {}

  package init(from decoder: any Decoder) throws {
    let object = try decoder.strictContainer(keyedBy: CodingKeys.self)
    active = try object.decodeIfPresent(Int.self, forKey: .active)
    activePerHost = try object.decodeIfPresent(Int.self, forKey: .activePerHost)
    connectionsPerHost = try object.decodeIfPresent(Int.self, forKey: .connectionsPerHost)
    connections = try object.decodeIfPresent(Int.self, forKey: .connections)
    rate = try object.decodeIfPresent(Int64.self, forKey: .rate)
    if object.contains(.schedule), try !object.decodeNil(forKey: .schedule) {
      schedule = try object.decodeArray(of: Window.self, forKey: .schedule, atMost: 100)
    }
  }
}

extension LimitsDocument {
  /// - Throws: `Problem` (422) for a number that no limit can be.
  package func check() throws(Problem) {
    let counts = [active, activePerHost, connectionsPerHost, connections].compactMap(\.self)
    guard counts.allSatisfy({ (0...100_000).contains($0) }), (rate ?? 0) >= 0 else {
      throw Problem(
        422, "Unprocessable Content", "a limit is a number from 0 to 100,000, and a rate at least 0"
      )
    }
  }
}

extension LimitsDocument.Window {
  package init(from decoder: any Decoder) throws {
    let object = try decoder.strictContainer(keyedBy: CodingKeys.self)
    days = try object.decode([String].self, forKey: .days)
    from = try object.decode(String.self, forKey: .from)
    to = try object.decode(String.self, forKey: .to)
    rate = try object.decodeIfPresent(Int64.self, forKey: .rate)
  }

  package init(_ window: Schedule.Window) {
    days = Schedule.Weekday.allCases.filter(window.days.contains).map { "\($0)" }
    (from, to) = (ScheduleText.text(window.from), ScheduleText.text(window.to))
    rate = window.rateLimit
  }

  /// - Throws: `Problem` (422) for an unknown day or time, or a rate of 0 or less.
  package func window() throws(Problem) -> Schedule.Window {
    let known = Schedule.Weekday.allCases.filter { days.contains("\($0)") }
    guard let from = ScheduleText.minutes(from), let to = ScheduleText.minutes(to), from < 24 * 60,
      !days.isEmpty, known.count == Set(days).count
    else {
      throw Problem(
        422, "Unprocessable Content",
        "a window has days from monday to sunday, and times from 00:00 to 24:00")
    }
    guard (rate ?? 1) > 0 else {
      throw Problem(422, "Unprocessable Content", "the rate of a window is at least 1, or left out")
    }
    return Schedule.Window(Set(known), from: from, to: to, rateLimit: rate)
  }
}
