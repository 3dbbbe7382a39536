import HaulCore
import Testing

@Suite struct ContentLengthTests {
  @Test(
    arguments: [
      (["0"], 0), (["10"], 10), ([" 10\t"], 10), (["9223372036854775807"], .max),
      (["10", "10"], 10), (["10, 10"], 10), (["010"], 10), (["10;"], 10), (["10 Bytes"], 10),
    ] as [([String], Int64)])
  func `Lengths are read`(values: [String], length: Int64) {
    #expect(ContentLength(fields(values)) == .bytes(length))
  }

  @Test(arguments: [
    [""], ["+5"], ["-5"], ["0x10"], ["5.0"], ["5 5"], ["9223372036854775808"], ["10", "11"],
    ["10, 11"], ["10,"], [",10"], ["10", "x"], ["x", "x"], ["٥"], ["10 kB"], ["10;5"], ["10;x"],
    ["10;;"], ["; 10"], ["bytes"],
  ])
  func `Lengths that cannot frame a body are invalid`(values: [String]) {
    #expect(ContentLength(fields(values)) == .invalid)
  }

  @Test func `A missing field differs from an invalid one`() {
    #expect(ContentLength(HeaderFields()) == .absent)
  }

  private func fields(_ values: [String]) -> HeaderFields {
    HeaderFields(values.map { ("Content-Length", $0) })
  }
}
