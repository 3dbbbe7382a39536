import HaulCore
import Testing

@Suite struct RetryAfterTests {
  static let now = 784_111_777.0
  static let year = 366 * 86_400

  @Test(arguments: [
    ("0", 0), ("120", 120), (" 7 ", 7), ("3600", 3600), ("86400", 86_400),
    ("99999999999999999999999999", year), ("Sun, 06 Nov 1994 08:50:37 GMT", 60),
    ("Sun, 06 Nov 1994 08:49:37 GMT", 0), ("Sun, 06 Nov 1994 08:00:00 GMT", 0),
    ("Sunday, 06-Nov-94 08:49:38 GMT", 1), ("Fri, 31 Dec 9999 23:59:59 GMT", year),
  ])
  func `Seconds and dates are read, and limited to a year`(text: String, seconds: Int) {
    #expect(RetryAfter.delay(text, now: Self.now) == .seconds(seconds))
  }

  @Test(arguments: ["", "-1", "+5", "1.5", "0x10", "soon", "5 s", "1, 2", "5\n", "٣"])
  func `Invalid values are ignored`(text: String) {
    #expect(RetryAfter.delay(text, now: Self.now) == nil)
  }

  @Test func `Equal repeated fields are read, and different ones are ignored`() {
    let five = [("Retry-After", "5")]
    #expect(RetryAfter.delay(HeaderFields(five + five), now: 0) == .seconds(5))
    #expect(RetryAfter.delay(HeaderFields(five + [("retry-after", "6")]), now: 0) == nil)
    #expect(RetryAfter.delay(HeaderFields(), now: 0) == nil)
  }
}
