/// The fixed form of a date in HTTP (RFC 9110, section 5.6.7).
package enum ServerDate {
  private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// The text of a time in seconds since 1970, UTC; only from 1970 on.
  package static func text(_ seconds: Int64) -> String {
    let (day, second) = seconds.quotientAndRemainder(dividingBy: 86_400)
    let date = civil(day)
    let clock = [second / 3600, second / 60 % 60, second % 60].map(twoDigits).joined(separator: ":")
    let weekday = days[Int(day % 7)]
    return "\(weekday), \(twoDigits(date.day)) \(months[date.month - 1]) \(date.year) \(clock) GMT"
  }

  private static func twoDigits(_ value: some BinaryInteger) -> String {
    (value < 10 ? "0" : "") + String(value)
  }

  /// Days since 1970 as a Gregorian date. Years are counted from March.
  private static func civil(_ days: Int64) -> (year: Int64, month: Int, day: Int64) {
    let shifted = days + 719_468
    let era = shifted / 146_097
    let dayOfEra = shifted % 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    let month = Int(marchMonth < 10 ? marchMonth + 3 : marchMonth - 9)
    return (
      yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month,
      dayOfYear - (153 * marchMonth + 2) / 5 + 1
    )
  }
}
