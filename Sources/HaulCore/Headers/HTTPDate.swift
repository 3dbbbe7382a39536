/// An HTTP date (RFC 9110, section 5.6.7).
package struct HTTPDate: Hashable, Comparable, Sendable {
  package let secondsSince1970: Int64

  /// A date to send. Times outside the years 0 to 9999 become the nearest time inside.
  package init(secondsSince1970 seconds: Int64) {
    secondsSince1970 = min(max(seconds, Self.earliest), Self.latest)
  }

  /// Reads all three forms: IMF-fixdate, RFC 850 and asctime.
  ///
  /// The date must exist. Its letters may be of any case (RFC 9111, section 4.2), and its weekday
  /// any: it says nothing that the date does not say, and some servers have a wrong one. `now`,
  /// seconds since 1970, decides the century of a two-digit year: the latest one that is not more
  /// than 50 years ahead.
  package init?(_ text: String, now: Double) {
    guard let date = Self.fixed(text) ?? Self.asctime(text) ?? Self.rfc850(text, now: now) else {
      return nil
    }
    secondsSince1970 = date.secondsSince1970
  }

  /// The form to send, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
  package var imfFixdate: String {
    let date = CivilDate(secondsSince1970: secondsSince1970)
    let weekday = Self.shortWeekdays[Int(date.weekday)]
    let month = Self.months[Int(date.month) - 1]
    let time = [date.hour, date.minute, date.second].map { Self.padded($0, to: 2) }
    return "\(weekday), \(Self.padded(date.day, to: 2)) \(month) \(Self.padded(date.year, to: 4)) "
      + time.joined(separator: ":") + " GMT"
  }

  /// The basic form of ISO 8601, such as `19941106T084937Z`.
  package var iso8601Basic: String {
    let date = CivilDate(secondsSince1970: secondsSince1970)
    let day = Self.padded(date.year, to: 4) + Self.padded(date.month, to: 2)
    let time = [date.hour, date.minute, date.second].map { Self.padded($0, to: 2) }.joined()
    return "\(day)\(Self.padded(date.day, to: 2))T\(time)Z"
  }

  package static func < (left: HTTPDate, right: HTTPDate) -> Bool {
    left.secondsSince1970 < right.secondsSince1970
  }

  private static let earliest = CivilDate(year: 0, month: 1, day: 1).secondsSince1970
  private static let latest =
    CivilDate(year: 9999, month: 12, day: 31, hour: 23, minute: 59, second: 59).secondsSince1970
  private static let months: [StaticString] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
  private static let weekdays: [StaticString] = [
    "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
  ]
  private static let shortWeekdays: [StaticString] = [
    "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat",
  ]

  private static func padded(_ number: Int64, to width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}

extension HTTPDate {
  /// `Sun, 06 Nov 1994 08:49:37 GMT`: the form in use today, with fixed columns.
  private static func fixed(_ text: String) -> CivilDate? {
    var text = text
    return text.withUTF8 { bytes in
      let start = bytes.firstIndex { !FieldScanner.isWhitespace($0) } ?? 0
      let end = start + form.utf8CodeUnitCount
      guard bytes.count >= end, bytes[end...].allSatisfy(FieldScanner.isWhitespace) else {
        return nil
      }
      let date = UnsafeBufferPointer(rebasing: bytes[start..<end])
      return hasForm(date) ? checked(date) : nil
    }
  }

  /// In this form, `-` stands for a letter and `0` for a digit.
  private static var form: StaticString { "---, 00 --- 0000 00:00:00 GMT" }

  private static func hasForm(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    for index in bytes.indices {
      switch form.utf8Start[index] {
      case UInt8(ascii: "-"): break
      case UInt8(ascii: "0"): if !FieldScanner.isDigit(bytes[index]) { return false }
      case let wanted:
        if bytes[index] != wanted, !isSameLetter(bytes[index], wanted) { return false }
      }
    }
    return true
  }

  private static func checked(_ bytes: UnsafeBufferPointer<UInt8>) -> CivilDate? {
    func number(_ index: Int) -> Int64 {
      Int64(bytes[index] - 0x30) * 10 + Int64(bytes[index + 1] - 0x30)
    }
    /// A loop, as every response has two dates.
    func word(_ index: Int, of words: [StaticString]) -> Int64? {
      for (number, word) in words.enumerated() {
        let letters = word.utf8Start
        if (0..<3).allSatisfy({ isSameLetter(bytes[index + $0], letters[$0]) }) {
          return Int64(number)
        }
      }
      return nil
    }
    guard word(0, of: shortWeekdays) != nil, let month = word(8, of: months) else { return nil }
    let date = CivilDate(
      year: number(12) * 100 + number(14), month: month + 1, day: number(5), hour: number(17),
      minute: number(20), second: number(23))
    return date.isValid ? date : nil
  }

  /// Whether they are one letter in any case. What differs by more than the case is no letter here.
  private static func isSameLetter(_ byte: UInt8, _ letter: UInt8) -> Bool {
    byte | 0x20 == letter | 0x20 && (0x61...0x7A).contains(letter | 0x20)
  }

  /// `Sun Nov  6 08:49:37 1994`
  private static func asctime(_ text: String) -> CivilDate? {
    var scanner = FieldScanner(text)
    scanner.skipWhitespace()
    guard scanner.word(of: shortWeekdays) != nil,
      scanner.take(" "), let month = scanner.word(of: months), scanner.take(" "),
      let day = scanner.take(" ") ? scanner.number(digits: 1) : scanner.number(digits: 2),
      scanner.take(" "), let time = scanner.time(), scanner.take(" "),
      let year = scanner.number(digits: 4)
    else { return nil }
    return checked(CivilDate(year: year, month: month + 1, day: day), time, end: &scanner)
  }

  /// `Sunday, 06-Nov-94 08:49:37 GMT`
  private static func rfc850(_ text: String, now: Double) -> CivilDate? {
    var scanner = FieldScanner(text)
    scanner.skipWhitespace()
    guard scanner.word(of: weekdays) != nil, scanner.take(", "),
      let day = scanner.number(digits: 2), scanner.take("-"),
      let month = scanner.word(of: months), scanner.take("-"),
      let shortYear = scanner.number(digits: 2), scanner.take(" "),
      let time = scanner.time(), scanner.take(" GMT", ignoringCase: true)
    else { return nil }
    var date = CivilDate(year: shortYear, month: month + 1, day: day)
    (date.hour, date.minute, date.second) = time
    date.year = fullYear(of: date, now: now)
    return checked(date, time, end: &scanner)
  }

  /// The latest year with these last two digits in which the date is at most 50 years after `now`.
  private static func fullYear(of date: CivilDate, now: Double) -> Int64 {
    let now = HTTPDate(secondsSince1970: Int64(exactly: now.rounded()) ?? 0).secondsSince1970
    let century = CivilDate(secondsSince1970: now).year / 100
    var back = date
    for candidate in stride(from: (century + 1) * 100 + date.year, to: date.year, by: -100) {
      back.year = candidate - 50
      if back.secondsSince1970 <= now { return candidate }
    }
    return date.year
  }

  private static func checked(
    _ date: CivilDate, _ time: (Int64, Int64, Int64), end scanner: inout FieldScanner
  ) -> CivilDate? {
    var date = date
    (date.hour, date.minute, date.second) = time
    scanner.skipWhitespace()
    return scanner.isAtEnd && date.isValid ? date : nil
  }
}

extension FieldScanner {
  /// Takes one of `words`, in any case; the index of the one taken.
  fileprivate mutating func word(of words: [StaticString]) -> Int64? {
    words.firstIndex { take($0, ignoringCase: true) }.map(Int64.init)
  }

  /// Takes `08:49:37`.
  fileprivate mutating func time() -> (Int64, Int64, Int64)? {
    guard let hour = number(digits: 2), take(":"), let minute = number(digits: 2), take(":"),
      let second = number(digits: 2)
    else { return nil }
    return (hour, minute, second)
  }
}
