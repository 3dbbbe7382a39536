/// A schedule in its time zone: whether it is open at an instant, with which rate, and when that
/// changes. Instants are seconds since 1970.
///
/// It has no calendar: a week has 604,800 readings of a wall clock, each inside a window or not.
/// The port maps instants to readings, so skipped and repeated hours need no rule here.
package struct LocalSchedule: Sendable {
  package struct State: Hashable, Sendable {
    package let level: Level
    /// When that changes; nil if it never does.
    package let until: Int64?

    package var isOpen: Bool { level != .closed }

    /// Bytes per second while it is open; nil for no limit.
    package var rateLimit: Int64? {
      if case .open(let rateLimit) = level { rateLimit } else { nil }
    }
  }

  package enum Level: Hashable, Sendable {
    case closed
    /// With a limit in bytes per second, or nil for none.
    case open(rateLimit: Int64?)
  }

  /// Readings with one level.
  private struct Span {
    var readings: Range<Int64>
    let rateLimit: Int64?
  }

  private static let day: Int64 = 86_400
  private static let week = 7 * day
  /// Readings count from Monday 00:00; 1970 began on a Thursday.
  private static let firstReading = 3 * day
  /// If a change of the clock skips a window, it comes again a week later.
  private static let horizon = 15 * day

  package let schedule: Schedule
  private let timeZone: any TimeZoneOffsets
  /// The open readings of a week as separate ranges, in order.
  private let spans: [Span]

  /// - Throws: `refused` for a window outside the minutes of a day, or with a rate of 0 or less.
  package init(_ schedule: Schedule, at timeZone: any TimeZoneOffsets) throws(TransferError) {
    for window in schedule.windows
    where !(0..<1440).contains(window.from) || !(0...1440).contains(window.to) {
      throw TransferError(
        .refused,
        "a window of the schedule is from minute \(window.from) to \(window.to): a day has the minutes 0 to 1440"
      )
    }
    for case let rate? in schedule.windows.map(\.rateLimit) where rate <= 0 {
      throw TransferError(
        .refused, "a window of the schedule has a rate of \(rate) bytes per second")
    }
    self.schedule = schedule
    self.timeZone = timeZone
    spans = Self.spans(of: schedule.windows)
  }

  /// Whether it is open, and until when. O(log windows), as long as it changes within days.
  package func state(at seconds: Int64) -> State {
    let level = level(at: seconds)
    guard let first = spans.first, first.readings != 0..<Self.week else {
      return State(level: level, until: nil)
    }
    var instant = seconds
    while instant < seconds + Self.horizon {
      instant = nextTransition(after: instant)
      if self.level(at: instant) != level { return State(level: level, until: instant) }
    }
    return State(level: level, until: nil)
  }

  /// When it opens, for a person: `Monday 22:00 (Europe/Berlin)`.
  package func text(_ seconds: Int64) -> String {
    let reading = reading(at: seconds)
    let (day, minute) = (Int(reading / Self.day), Int(reading % Self.day / 60))
    let name = Schedule.Weekday(rawValue: day).map { "\($0)" } ?? ""
    let digits = [minute / 60, minute % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
    let time = "\(name.prefix(1).uppercased())\(name.dropFirst()) \(digits.joined(separator: ":"))"
    return time + (schedule.timeZone.map { " (\($0))" } ?? "")
  }
}

extension LocalSchedule {
  private func level(at seconds: Int64) -> Level {
    let reading = reading(at: seconds)
    guard let span = span(after: reading), span.readings.contains(reading) else { return .closed }
    return .open(rateLimit: span.rateLimit)
  }

  /// The first one that ends after this reading.
  private func span(after reading: Int64) -> Span? {
    var (low, high) = (0, spans.count)
    while low < high {
      let middle = (low + high) / 2
      if spans[middle].readings.upperBound > reading { high = middle } else { low = middle + 1 }
    }
    return low < spans.count ? spans[low] : nil
  }

  /// The reading of the clock, in seconds since Monday 00:00.
  private func reading(at seconds: Int64) -> Int64 {
    let local = seconds + timeZone.offset(at: seconds) + Self.firstReading
    let rest = local % Self.week
    return rest < 0 ? rest + Self.week : rest
  }

  /// The next instant at which a window may begin or end, or the clock changes; at most a day
  /// later.
  private func nextTransition(after seconds: Int64) -> Int64 {
    let offset = timeZone.offset(at: seconds)
    let next = seconds + min(readingsLeft(at: seconds), Self.day)
    guard timeZone.offset(at: next) != offset else { return next }
    var (before, after) = (seconds, next)
    while after - before > 1 {
      let middle = before + (after - before) / 2
      if timeZone.offset(at: middle) == offset { before = middle } else { after = middle }
    }
    return after
  }

  /// Seconds until an unchanged clock shows the start or the end of a window, or of the week.
  private func readingsLeft(at seconds: Int64) -> Int64 {
    let reading = reading(at: seconds)
    guard let span = span(after: reading)?.readings else { return Self.week - reading }
    return (span.contains(reading) ? span.upperBound : span.lowerBound) - reading
  }

  private static func readings(_ window: Schedule.Window) -> [Range<Int64>] {
    let minutes = window.to > window.from ? window.to - window.from : window.to - window.from + 1440
    return window.days.flatMap { weekday -> [Range<Int64>] in
      let first = Int64(weekday.rawValue) * day + Int64(window.from) * 60
      let end = first + Int64(minutes) * 60
      guard end > week else { return [first..<end] }
      return [first..<week, 0..<(end - week)]
    }
  }

  /// What is open in a week, in order, without overlaps.
  private static func spans(of windows: [Schedule.Window]) -> [Span] {
    let opened = windows.flatMap { window in
      readings(window).map { Span(readings: $0, rateLimit: window.rateLimit) }
    }
    .sorted { $0.readings.lowerBound < $1.readings.lowerBound }
    let edges = Set(opened.flatMap { [$0.readings.lowerBound, $0.readings.upperBound] }).sorted()
    var (spans, current, next) = ([Span](), [Span](), 0)
    for (edge, end) in zip(edges, edges.dropFirst()) {
      current.removeAll { $0.readings.upperBound <= edge }
      while next < opened.count, opened[next].readings.lowerBound == edge {
        current.append(opened[next])
        next += 1
      }
      guard !current.isEmpty else { continue }
      let rateLimit = current.compactMap(\.rateLimit).min()
      if let last = spans.last, last.readings.upperBound == edge, last.rateLimit == rateLimit {
        spans[spans.count - 1].readings = last.readings.lowerBound..<end
      } else {
        spans.append(Span(readings: edge..<end, rateLimit: rateLimit))
      }
    }
    return spans
  }
}
