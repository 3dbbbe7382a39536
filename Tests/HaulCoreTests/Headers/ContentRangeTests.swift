import HaulCore
import Testing

@Suite struct ContentRangeTests {
  @Test(
    arguments: [
      ("bytes 0-9/10", 0, 10, 10), ("bytes 0-0/1", 0, 1, 1), ("BYTES 5-9/*", 5, 10, nil),
      (" bytes 0-9/10\t", 0, 10, 10),
      ("bytes 4294967295-4294967296/4294967297", 4_294_967_295, 4_294_967_297, 4_294_967_297),
      ("bytes 0-9223372036854775806/9223372036854775807", 0, .max, .max),
    ] as [(String, Int64, Int64, Int64?)])
  func `A well-formed range is read`(text: String, lower: Int64, upper: Int64, total: Int64?) throws
  {
    let value = try #require(ContentRange(text))
    #expect(value.range == lower..<upper)
    #expect(value.total == total)
  }

  @Test func `An unsatisfied range has only a total`() throws {
    let value = try #require(ContentRange("bytes */0"))
    #expect(value.range == nil)
    #expect(value.total == 0)
  }

  @Test(arguments: [
    "", "bytes", "bytes ", "bytes=0-9/10", "0-9/10", "items 0-9/10", "bytes  0-9/10",
    "bytes\t0-9/10", "bytes 0 -9/10", "bytes 0-9 /10", "bytes 0-9/ 10", "bytes -1-9/10",
    "bytes 9-0/10", "bytes 0-10/10", "bytes 0-9/9", "bytes 0-9", "bytes 0-/10", "bytes -9/10",
    "bytes */*", "bytes */", "bytes */-1", "bytes +0-9/10", "bytes 0x0-9/10",
    "bytes 0-9/9223372036854775808", "bytes 0-9223372036854775807/*",
    "bytes 18446744073709551616-18446744073709551617/*", "bytes 0-9/10, bytes 0-9/10",
    "bytes 0-9/10x", "bytes 0-9/10\n", "\u{A0}bytes 0-9/10", "bytes ٠-٩/*",
  ])
  func `Anything else is refused`(text: String) { #expect(ContentRange(text) == nil) }

  @Test func `Small ranges are accepted exactly when first ≤ last < total`() {
    for first in 0..<5 {
      for last in 0..<5 {
        for total in 0..<6 {
          let value = ContentRange("bytes \(first)-\(last)/\(total)")
          #expect((value != nil) == (first <= last && last < total))
        }
      }
    }
  }

  @Test func `A repeated field counts as no field`() {
    let one = [("content-range", "bytes 0-9/10")]
    #expect(ContentRange(HeaderFields(one)) != nil)
    #expect(ContentRange(HeaderFields(one + one)) == nil)
    #expect(ContentRange(HeaderFields()) == nil)
  }
}
