/// The times of the week in which transfers run, by the clock on the wall in one time zone.
///
/// A window is open whenever that clock shows a time in it, and only then. So where the clock is
/// put forward from 02:00 to 03:00, a window from 02:00 to 03:00 does not open on that day; where
/// it is put back from 03:00 to 02:00, the window is open for both of these hours. One from 22:00
/// to 06:00 is an hour shorter in the one night, and an hour longer in the other.
public struct Schedule: Hashable, Sendable {
  /// When transfers run, in any order; windows may overlap. Without any, nothing ever runs.
  public var windows: [Window]
  /// Whose clock counts, by its name in the time zone database (`Europe/Berlin`); nil for that of
  /// this system as it was when the program began.
  public var timeZone: String?

  /// A schedule of these windows.
  public init(_ windows: [Window], timeZone: String? = nil) {
    self.windows = windows
    self.timeZone = timeZone
  }

  /// A time of the day, on some days of the week.
  public struct Window: Hashable, Sendable {
    /// The days on which it begins.
    public var days: Set<Weekday>
    /// The first minute, counted from midnight: 0 to 1439.
    public var from: Int
    /// The minute at which it is over, counted from midnight: 0 to 1440. When that is not after
    /// `from`, it is on the next day; from one time to the same is a whole day.
    public var to: Int

    /// A window that begins on these days.
    /// - Parameters:
    ///   - days: on which it begins, also when it lasts over midnight.
    ///   - from: the first minute of the day.
    ///   - to: the minute at which it is over; on the next day when that is not after `from`.
    public init(_ days: Set<Weekday>, from: Int, to: Int) {
      self.days = days
      self.from = from
      self.to = to
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
