import HaulCore
import Testing

@Suite struct HTTPDateTests {
  static let in1994 = 784_111_777.0

  @Test(arguments: [
    "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
    "Sun Nov  6 08:49:37 1994", "  Sun, 06 Nov 1994 08:49:37 GMT ",
    "sun, 06 nov 1994 08:49:37 gmt", "SUN, 06 NOV 1994 08:49:37 GMT", "sun nov  6 08:49:37 1994",
    "SUNDAY, 06-nov-94 08:49:37 gmt", "Mon, 06 Nov 1994 08:49:37 GMT",
    "Friday, 06-Nov-94 08:49:37 GMT", "Mon Nov  6 08:49:37 1994",
  ])
  func `All three forms mean the same second`(text: String) throws {
    let date = try #require(HTTPDate(text, now: Self.in1994))
    #expect(date.secondsSince1970 == 784_111_777)
    #expect(date.imfFixdate == "Sun, 06 Nov 1994 08:49:37 GMT")
  }

  @Test(arguments: [
    "", "0", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
    "Sun, 06 Nov 1994 08:49:37 +0000", "Sun, 6 Nov 1994 08:49:37 GMT",
    "Som, 06 Nov 1994 08:49:37 GMT", "Sun, 31 Feb 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
    "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 06 Nov 94 08:49:37 GMT",
    "Sun, 06 Nov 1994 08:49:37 G\rT", "Sun, 06 Nov 1994 08:49:37 GMT;",
    "Sun Nov 06 08:49:37 94", "Sun Nov 6 08:49:37 1994", "Sunday, 06-Nov-1994 08:49:37 GMT",
    "1994-11-06T08:49:37Z", "Sun, 00 Nov 1994 08:49:37 GMT",
  ])
  func `Other dates are refused`(text: String) { #expect(HTTPDate(text, now: Self.in1994) == nil) }

  @Test func `A leap second is read as the first second of the next minute`() {
    let leap = HTTPDate("Sat, 31 Dec 2016 23:59:60 GMT", now: 0)
    #expect(leap == HTTPDate("Sun, 01 Jan 2017 00:00:00 GMT", now: 0))
  }

  @Test func `Every day of a calendar cycle is formatted and read back unchanged`() throws {
    let first = try #require(HTTPDate("Sat, 01 Jan 1600 12:00:00 GMT", now: 0)).secondsSince1970
    for day in 0..<Int64(146_500) {
      let date = HTTPDate(secondsSince1970: first + day * 86_400)
      guard HTTPDate(date.imfFixdate, now: 0) == date else {
        Issue.record("\(date.imfFixdate) is read as another day")
        return
      }
    }
    #expect(
      HTTPDate(secondsSince1970: first + 146_499 * 86_400).imfFixdate
        == "Tue, 06 Feb 2001 12:00:00 GMT")
  }

  @Test func `Known instants are formatted correctly`() {
    #expect(HTTPDate(secondsSince1970: 0).imfFixdate == "Thu, 01 Jan 1970 00:00:00 GMT")
    #expect(HTTPDate(secondsSince1970: -1).imfFixdate == "Wed, 31 Dec 1969 23:59:59 GMT")
    #expect(HTTPDate(secondsSince1970: 951_782_400).imfFixdate == "Tue, 29 Feb 2000 00:00:00 GMT")
    #expect(HTTPDate(secondsSince1970: .max).imfFixdate == "Fri, 31 Dec 9999 23:59:59 GMT")
  }

  @Test(arguments: [
    ("Sunday, 06-Nov-44 08:49:37 GMT", 2044), ("Monday, 06-Nov-44 08:49:37 GMT", 2044),
    ("Tuesday, 06-Nov-45 08:49:37 GMT", 1945), ("Saturday, 06-Nov-93 08:49:37 GMT", 1993),
  ])
  func `A two-digit year is the latest that is at most 50 years ahead`(text: String, year: Int) {
    let date = HTTPDate(text, now: Self.in1994)
    #expect(date?.imfFixdate.contains(" \(year) ") == true)
  }

  @Test func `The 50-year limit is exact to the second`() {
    let text = "Sunday, 06-Nov-44 08:49:37 GMT"
    #expect(HTTPDate(text, now: Self.in1994)?.imfFixdate.contains(" 2044 ") == true)
    #expect(HTTPDate(text, now: Self.in1994 - 1)?.imfFixdate.contains(" 1944 ") == true)
  }
}
