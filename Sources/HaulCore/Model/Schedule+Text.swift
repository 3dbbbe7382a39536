/// Windows of the schedule as people write them.
extension Schedule.Window {
  /// `mon-fri 22:00-06:00`, `sat,sun 0:00-24:00`, `daily 1-5`, `1-5`; nil for other text.
  package init?(_ text: String) {
    let words = text.byteSplit(separator: " ").map(String.init)
    let times =
      words.last?.byteSplit(separator: "-", omittingEmptySubsequences: false)
      .map { ScheduleText.minutes(String($0)) } ?? []
    guard (1...2).contains(words.count), times.count == 2,
      let days = words.count == 1 ? .everyDay : ScheduleText.days(words[0]), let from = times[0],
      let to = times[1], from < 24 * 60
    else { return nil }
    self.init(days, from: from, to: to)
  }
}

/// The words of the schedule, which a repetition uses too.
package enum ScheduleText {
  private static let names = Schedule.Weekday.allCases.map { String("\($0)".prefix(3)) }

  /// Days and ranges of days, with commas between them, or `daily`; nil for other text.
  static func days(_ text: String) -> Set<Schedule.Weekday>? {
    let text = text.lowercased()
    guard text != "daily" else { return .everyDay }
    var days: Set<Schedule.Weekday> = []
    for part in text.byteSplit(separator: ",", omittingEmptySubsequences: false) {
      let ends = part.byteSplit(separator: "-", omittingEmptySubsequences: false)
        .map { names.firstIndex(of: String($0)) }
      guard (1...2).contains(ends.count), let first = ends[0], let last = ends[ends.count - 1]
      else { return nil }
      // From Friday to Monday goes over the end of the week.
      let count = (last - first + names.count) % names.count
      for offset in 0...count {
        days.insert(Schedule.Weekday.allCases[(first + offset) % names.count])
      }
    }
    return days
  }

  /// `daily`, or the short names of the days.
  package static func text(_ days: Set<Schedule.Weekday>) -> String {
    days == .everyDay
      ? "daily" : days.map(\.rawValue).sorted().map { names[$0] }.joined(separator: ",")
  }

  /// `00:00`, `0:00` or `0` to `24:00`, in minutes from midnight; nil for other text.
  package static func minutes(_ text: String) -> Int? {
    let parts = text.byteSplit(separator: ":", omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count), parts.allSatisfy(isNumber), parts[0].utf8.count <= 2,
      parts.count == 1 || parts[1].utf8.count == 2,
      let hours = UInt8(parts[0]), let minutes = UInt8(parts.count == 1 ? "0" : parts[1]),
      minutes < 60
    else { return nil }
    let sum = Int(hours) * 60 + Int(minutes)
    return sum <= 24 * 60 ? sum : nil
  }

  package static func text(_ minutes: Int) -> String {
    let digits = [minutes / 60, minutes % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
    return digits.joined(separator: ":")
  }

  /// Not `+1`.
  static func isNumber(_ text: Substring) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
  }
}
