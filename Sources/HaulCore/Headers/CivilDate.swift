/// A date and time of day of the proleptic Gregorian calendar, UTC.
struct CivilDate: Hashable {
  var year: Int64
  /// 1 to 12.
  var month: Int64
  /// 1 to 31.
  var day: Int64
  var hour: Int64 = 0
  var minute: Int64 = 0
  /// 0 to 60: an HTTP date may name a leap second.
  var second: Int64 = 0

  /// Whether the date exists and the time is a time of day.
  var isValid: Bool {
    (1...12).contains(month) && (1...Self.days(in: month, of: year)).contains(day)
      && (0...23).contains(hour) && (0...59).contains(minute) && (0...60).contains(second)
  }

  /// Seconds since 1970; a leap second counts as the first of the next minute.
  var secondsSince1970: Int64 {
    daysSince1970 * 86_400 + hour * 3_600 + minute * 60 + second
  }

  /// 0 is Sunday.
  var weekday: Int64 { (daysSince1970 + 4).modulo(7) }

  /// Days since 1970-01-01. Years are counted from March, so that the leap day ends one.
  private var daysSince1970: Int64 {
    let marchYear = month > 2 ? year : year - 1
    let marchMonth = (month + 9).modulo(12)
    let leapDays =
      marchYear.floored(by: 4) - marchYear.floored(by: 100) + marchYear.floored(by: 400)
    return marchYear * 365 + leapDays + (153 * marchMonth + 2) / 5 + day - 1 - Self.epoch
  }

  /// Days from 1 March of year 0 to 1 January 1970.
  private static let epoch: Int64 = 719_468

  static func days(in month: Int64, of year: Int64) -> Int64 {
    switch month {
    case 4, 6, 9, 11: 30
    case 2: isLeap(year) ? 29 : 28
    default: 31
    }
  }

  private static func isLeap(_ year: Int64) -> Bool {
    year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
  }
}

extension CivilDate {
  init(secondsSince1970 seconds: Int64) {
    let time = seconds.modulo(86_400)
    let days = seconds.floored(by: 86_400) + Self.epoch
    // 146 097 days are 400 years; within a period, only the last day can be a leap day.
    let era = days.floored(by: 146_097)
    let dayOfEra = days.modulo(146_097)
    let yearOfEra =
      (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
    day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
    hour = time / 3_600
    minute = time / 60 % 60
    second = time % 60
  }
}

extension Int64 {
  fileprivate func floored(by divisor: Int64) -> Int64 {
    (self - modulo(divisor)) / divisor
  }

  fileprivate func modulo(_ divisor: Int64) -> Int64 {
    let remainder = self % divisor
    return remainder < 0 ? remainder + divisor : remainder
  }
}
