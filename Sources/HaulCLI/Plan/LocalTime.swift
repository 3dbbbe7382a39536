import HaulControl
import HaulCore
import HaulLibC

/// Instants as people write them, in the time zone of this process.
package enum LocalTime {
  /// The instant of `22:00` or `9:00` (the next one), `2026-11-24T22:00`, or these with seconds,
  /// and a day with `Z` or `+01:00`; in seconds since 1970.
  /// - Parameters:
  ///   - wallSeconds: the present time.
  ///   - isPast: whether a time of day is the last one.
  package static func seconds(
    _ text: String, at wallSeconds: Double, isPast: Bool = false
  ) throws(UsageError) -> Double {
    if let match = text.wholeMatch(of: /([0-9]{1,2}):([0-9][0-9])(?::([0-9][0-9]))?/) {
      let second = match.3.map { Int32($0) } ?? 0
      return try nearest(
        Int32(match.1), Int32(match.2), second, to: wallSeconds, isPast: isPast)
    }
    let form =
      #/
      ([0-9]{4})-([0-9]{2})-([0-9]{2})[T\x20]([0-9]{2}):([0-9]{2})
      (?::([0-9]{2}))?(Z|[+-][0-9]{2}:[0-9]{2})?
      /#
    guard let match = text.wholeMatch(of: form) else { throw UsageError(hint) }
    func number(_ digits: Substring?) -> Int32 { digits.flatMap { Int32($0) } ?? 0 }
    var time = tm()
    (time.tm_year, time.tm_mon) = (number(match.1) - 1900, number(match.2) - 1)
    (time.tm_mday, time.tm_hour) = (number(match.3), number(match.4))
    (time.tm_min, time.tm_sec) = (number(match.5), number(match.6))
    guard isValid(time) else { throw UsageError("--at \(text): there is no such time") }
    guard let zone = match.7 else { return try instant(of: time) }
    guard let offset = offset(of: zone) else {
      throw UsageError("--at \(text): there is no such zone")
    }
    let seconds = Double(timegm(&time) - offset)
    guard seconds >= 0 else { throw UsageError("--at \(text): that is before 1970") }
    return seconds
  }

  /// The instant of a text as for `seconds`, of which a time of day is the last one, or of `2h` or
  /// `7d` before now.
  /// - Parameter option: for messages.
  package static func past(
    _ text: String, of option: String, at wallSeconds: Double
  ) throws(UsageError) -> Double {
    if let ago = try? ArgumentValue.duration(text) { return wallSeconds - ago / .seconds(1) }
    do throws(UsageError) {
      return try seconds(text, at: wallSeconds, isPast: true)
    } catch {
      let reason = error.message.dropping(bytePrefix: "--at") ?? ": \(error.message)"
      throw UsageError("\(option)\(reason), or like 2h or 7d for so long ago")
    }
  }

  private static let hint = "--at: write a time like 22:00, 2026-11-24T22:00 or 2026-11-24T22:00Z"

  /// `2026-11-24 22:00`.
  package static func text(_ wallSeconds: Double) -> String {
    var seconds = time_t(min(max(wallSeconds, 0), 1e11))
    var time = tm()
    localtime_r(&seconds, &time)
    let digits = [time.tm_mon + 1, time.tm_mday, time.tm_hour, time.tm_min]
      .map { $0 < 10 ? "0\($0)" : "\($0)" }
    return "\(time.tm_year + 1900)-\(digits[0])-\(digits[1]) \(digits[2]):\(digits[3])"
  }

  /// `2026-11-24 22:00:05`.
  package static func exactText(_ wallSeconds: Double) -> String {
    var seconds = time_t(min(max(wallSeconds, 0), 1e11))
    var time = tm()
    localtime_r(&seconds, &time)
    return "\(text(wallSeconds)):\(time.tm_sec < 10 ? "0" : "")\(time.tm_sec)"
  }

  private static func nearest(
    _ hour: Int32?, _ minute: Int32?, _ second: Int32?, to wallSeconds: Double, isPast: Bool
  ) throws(UsageError) -> Double {
    guard let hour, let minute, let second, hour < 24, minute < 60, second < 60 else {
      throw UsageError("--at: a time of day is from 00:00 to 23:59:59")
    }
    var now = time_t(wallSeconds)
    var today = tm()
    localtime_r(&now, &today)
    (today.tm_hour, today.tm_min, today.tm_sec) = (hour, minute, second)
    let first = try instant(of: today)
    guard (first > wallSeconds) == isPast else { return first }
    today.tm_mday += isPast ? -1 : 1
    return try instant(of: today)
  }

  private static func instant(of time: tm) throws(UsageError) -> Double {
    var time = time
    // Whether that day has summer time.
    time.tm_isdst = -1
    let seconds = mktime(&time)
    guard seconds >= 0 else { throw UsageError("--at: that is before 1970") }
    return Double(seconds)
  }

  /// Whether the calendar has that day and the day that time.
  private static func isValid(_ time: tm) -> Bool {
    var same = time
    _ = timegm(&same)
    return (same.tm_mon, same.tm_mday, same.tm_hour) == (time.tm_mon, time.tm_mday, time.tm_hour)
      && (same.tm_min, same.tm_sec) == (time.tm_min, time.tm_sec)
  }

  /// Seconds east of Greenwich; nil for a zone that cannot be.
  private static func offset(of zone: Substring) -> Int? {
    if zone == "Z" { return 0 }
    let digits = zone.dropFirst().byteSplit(separator: ":").compactMap { Int($0) }
    guard digits.count == 2, digits[0] < 24, digits[1] < 60 else { return nil }
    let seconds = digits[0] * 3600 + digits[1] * 60
    return zone.first == "-" ? -seconds : seconds
  }
}

extension TransferDocument.Wait {
  /// Its message, with times of this process's time zone.
  var text: String {
    guard code == "start-time", let until else { return message }
    return "starts at \(LocalTime.text(until))"
  }
}
