/// The date of a cookie, which has many forms (RFC 6265, section 5.1.1).
package enum CookieDate {
  private static let months: [StaticString] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
  ]

  /// Seconds since 1970; nil if it is no date.
  package static func seconds(of text: some StringProtocol) -> Double? {
    var (time, day, month, year): ((Int64, Int64, Int64)?, Int64?, Int64?, Int64?)
    var rest = Array(text.utf8)[...]
    while let start = rest.firstIndex(where: { !isDelimiter($0) }) {
      let end = rest[start...].firstIndex(where: isDelimiter) ?? rest.endIndex
      let token = rest[start..<end]
      rest = rest[end...]
      if time == nil, let found = Self.time(token) {
        time = found
      } else if day == nil, let found = number(token, digits: 1...2) {
        day = found
      } else if month == nil, let found = Self.month(token) {
        month = found
      } else if year == nil, let found = number(token, digits: 2...4) {
        year = found
      }
    }
    guard let time, let day, let month, var year else { return nil }
    if (70...99).contains(year) { year += 1900 } else if (0...69).contains(year) { year += 2000 }
    guard year >= 1601 else { return nil }
    var date = CivilDate(year: year, month: month, day: day)
    (date.hour, date.minute, date.second) = time
    return date.isValid ? Double(date.secondsSince1970) : nil
  }

  private static func isDelimiter(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
    default: false
    }
  }

  /// A number of so many digits; what follows them does not begin with another.
  private static func number(_ token: ArraySlice<UInt8>, digits: ClosedRange<Int>) -> Int64? {
    let run = token.prefix(while: FieldScanner.isDigit)
    return digits.contains(run.count) ? FieldScanner.decimal(run) : nil
  }

  /// `8:49:37`
  private static func time(_ token: ArraySlice<UInt8>) -> (Int64, Int64, Int64)? {
    let fields = token.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard fields.count == 3, fields[0].allSatisfy(FieldScanner.isDigit),
      fields[1].allSatisfy(FieldScanner.isDigit), let hour = number(fields[0], digits: 1...2),
      let minute = number(fields[1], digits: 1...2), let second = number(fields[2], digits: 1...2)
    else { return nil }
    return (hour, minute, second)
  }

  private static func month(_ token: ArraySlice<UInt8>) -> Int64? {
    guard token.count >= 3 else { return nil }
    let index = months.firstIndex { name in
      zip(token, UnsafeBufferPointer(start: name.utf8Start, count: 3)).allSatisfy {
        $0 | 0x20 == $1
      }
    }
    return index.map { Int64($0) + 1 }
  }
}
