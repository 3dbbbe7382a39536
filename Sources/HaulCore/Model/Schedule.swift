/// The times of the week in which transfers run, by wall-clock time in one time zone.
///
/// A window is open exactly while the clock shows a time in it. When the clock goes forward from
/// 02:00 to 03:00, a window from 02:00 to 03:00 does not open that day. When it goes back from
/// 03:00 to 02:00, that window is open for both hours. A window from 22:00 to 06:00 is an hour
/// shorter or longer in those nights.
public struct Schedule: Hashable, Sendable {
  /// When transfers run, in any order; windows may overlap. Without windows, nothing runs.
  public var windows: [Window]
  /// The name of the time zone (`Europe/Berlin`); nil for the system's zone at the start of the
  /// program.
  public var timeZone: String?

  /// A schedule of these windows.
  public init(_ windows: [Window], timeZone: String? = nil) {
    self.windows = windows
    self.timeZone = timeZone
  }

  /// A time of day, on some days of the week.
  public struct Window: Hashable, Sendable {
    /// The days on which it begins.
    public var days: Set<Weekday>
    /// The first minute, counted from midnight: 0 to 1439.
    public var from: Int
    /// The end, in minutes from midnight: 0 to 1440. An end before `from` is on the next day; if
    /// both are equal, the window is a whole day.
    public var to: Int
    /// Bytes per second of all transfers together while it is open; nil for no limit but the
    /// manager's. The lowest limit of all that are open counts.
    public var rateLimit: Int64?

    /// A window that begins on these days.
    /// - Parameters:
    ///   - days: the days on which it begins, even if it lasts past midnight.
    ///   - from: the first minute of the day.
    ///   - to: the minute at which it ends; on the next day if it is not after `from`.
    ///   - rateLimit: bytes per second of all transfers together; nil for no limit of its own.
    public init(_ days: Set<Weekday>, from: Int, to: Int, rateLimit: Int64? = nil) {
      self.days = days
      self.from = from
      self.to = to
      self.rateLimit = rateLimit
    }
  }

  /// A day of the week.
  public enum Weekday: Int, CaseIterable, Hashable, Sendable {
    case monday, tuesday, wednesday, thursday, friday, saturday, sunday
  }
}

extension Set<Schedule.Weekday> {
  /// All seven days.
  public static var everyDay: Self { Set(Schedule.Weekday.allCases) }
  /// Monday to Friday.
  public static var workdays: Self { [.monday, .tuesday, .wednesday, .thursday, .friday] }
}
