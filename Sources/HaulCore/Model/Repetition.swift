/// When a download runs again after each end, whether it was completed or failed: after an
/// interval, or at a time of day on some days of the week.
public struct Repetition: Sendable, Hashable {
  package enum Rule: Sendable, Hashable {
    /// In seconds.
    case interval(Int64)
    /// In minutes from midnight, by the clock of the system's time zone.
    case times(Set<Schedule.Weekday>, minute: Int)
  }

  package let rule: Rule
  /// When the intervals began, in seconds since 1970; nil until the transfer is added.
  package var start: Double?

  private init(_ rule: Rule, from start: Double? = nil) { (self.rule, self.start) = (rule, start) }

  /// The shortest interval, in seconds: an error in a script must not become a flood of requests.
  private static let shortest: Int64 = 60
  /// Ten years.
  private static let longest: Int64 = 3650 * 86_400

  /// An interval from the planned start of one run to that of the next, from a minute to ten years.
  /// The first run is at once, or at the start time of the transfer.
  public static func every(_ interval: Duration) -> Repetition {
    Repetition(.interval(min(max(interval.components.seconds, shortest), longest)))
  }

  /// A time of day, by the clock of the system's time zone. The first run is at the next such time.
  /// - Parameters:
  ///   - minute: counted from midnight, 0 to 1439; others are brought into this range.
  ///   - days: the days of the week; every day if there are none.
  public static func at(
    minute: Int, on days: Set<Schedule.Weekday> = .everyDay
  ) -> Repetition {
    Repetition(
      .times(days.isEmpty ? .everyDay : days, minute: min(max(minute, 0), 24 * 60 - 1)))
  }

  /// Whether it has an interval, and not times of day.
  package var isInterval: Bool { if case .interval = rule { true } else { false } }

  /// Whether both have the same times, whenever the intervals began.
  package func isSame(as other: Repetition?) -> Bool { rule == other?.rule }

  /// The first planned time after an instant, in seconds since 1970; nil if there is none.
  ///
  /// It follows from the start of the intervals alone: a late or long run moves no later one, and
  /// of missed runs none is made up for.
  /// - Parameter timeZone: for times of day. An hour that the clock skips has no runs, and one that
  ///   it repeats has each run twice, as for the schedule.
  package func next(after seconds: Double, at timeZone: any TimeZoneOffsets) -> Double? {
    switch rule {
    case .interval(let interval):
      let (start, interval) = (start ?? seconds, Double(interval))
      guard seconds >= start else { return start }
      return start + (((seconds - start) / interval).rounded(.down) + 1) * interval
    case .times(let days, let minute):
      let window = Schedule.Window(days, from: minute, to: minute + 1)
      // A window within a day is always valid.
      guard let times = try? LocalSchedule(Schedule([window]), at: timeZone) else { return nil }
      var instant = Int64(seconds.rounded(.down))
      // The window that is open now has begun.
      if case let state = times.state(at: instant), state.isOpen, let end = state.until {
        instant = end
      }
      return times.state(at: instant).until.map(Double.init)
    }
  }
}

/// As text: `12h`, `1d`, `daily 03:00` or `mon-fri 06:00`.
extension Repetition {
  private static let units: [(name: UInt8, seconds: Int64)] = [
    (UInt8(ascii: "d"), 86_400), (UInt8(ascii: "h"), 3600), (UInt8(ascii: "m"), 60),
    (UInt8(ascii: "s"), 1),
  ]
  private static let startMark = " from "

  /// What `text` and `storedText` return; nil for other text.
  public init?(_ text: String) {
    if let mark = text.firstByteRange(of: Self.startMark) {
      guard let start = Double(text[mark.upperBound...]), (0...1e11).contains(start),
        let repetition = Self(String(text[..<mark.lowerBound])), repetition.start == nil
      else { return nil }
      self = repetition
      self.start = start
      return
    }
    let words = text.byteSplit(separator: " ")
    if words.count == 2, let days = ScheduleText.days(String(words[0])),
      let minute = ScheduleText.minutes(String(words[1])), minute < 24 * 60
    {
      self.init(.times(days, minute: minute))
      return
    }
    guard let unit = Self.units.first(where: { $0.name == text.utf8.last }),
      ScheduleText.isNumber(text.dropLast()), let number = Int64(text.dropLast()),
      case let (seconds, isTooMuch) = number.multipliedReportingOverflow(by: unit.seconds),
      !isTooMuch, (Self.shortest...Self.longest).contains(seconds)
    else { return nil }
    self.init(.interval(seconds))
  }

  /// As a person writes it.
  public var text: String {
    switch rule {
    case .interval(let seconds):
      let unit = Self.units.first { seconds % $0.seconds == 0 } ?? Self.units[3]
      return "\(seconds / unit.seconds)\(Character(UnicodeScalar(unit.name)))"
    case .times(let days, let minute):
      return "\(ScheduleText.text(days)) \(ScheduleText.text(minute))"
    }
  }

  /// The text, with the start of the intervals.
  package var storedText: String { text + (start.map { "\(Self.startMark)\($0)" } ?? "") }

  /// What a person may write.
  package static let hint =
    "write a time from a minute to ten years, such as 30m, 12h or 1d, or days and a time of day, "
    + "such as 'daily 03:00' or 'mon-fri 06:00'"
}

extension Repetition: Codable {
  /// - Throws: `DecodingError` for a text that is no repetition.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let repetition = Self(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: Self.hint)
    }
    self = repetition
  }

  /// Writes its text.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(storedText)
  }
}

extension TransferRequest {
  /// - Throws: `not-yet-supported` for what cannot be repeated: only a download that brings its
  ///   file up to date.
  package func checkRepetition() throws(TransferError) {
    guard repetition != nil else { return }
    guard download?.checksums.isEmpty ?? true else {
      throw TransferError(
        .notYetSupported,
        "a digest is of one version, so a download that must have one cannot be repeated",
        advice: "leave the digest out")
    }
    let what: String? =
      switch work {
      case .upload: "an upload"
      case .step: "a program or another step"
      case .download(let download) where download.destination == .stream: "a stream"
      case .download(let download) where download.startOver: "a download that starts over"
      case .download(let download) where download.ifExists != .update:
        "a download that does not update its file (if-exists)"
      case .download: nil
      }
    if let what {
      throw TransferError(
        .notYetSupported, "\(what) cannot be repeated", advice: "repeat a download to a file")
    }
  }
}
