import HaulCore
import Testing

@Suite struct IPAddressTests {
  @Test(arguments: [
    ("0.0.0.0", [0, 0, 0, 0]), ("192.0.2.1", [192, 0, 2, 1]),
    ("255.255.255.255", [255, 255, 255, 255]),
    ("1.20.255.9", [1, 20, 255, 9]),
  ])
  func `An IPv4 address is four numbers`(text: String, bytes: [UInt8]) {
    #expect(IPAddress(text)?.bytes == bytes)
  }

  @Test(arguments: [
    "", ".", "1", "1.2.3", "1.2.3.", ".1.2.3", "1..2.3", "1.2.3.4.", "1.2.3.4.5", "1.2.3.256",
    "1.2.3.1000", "1.2.3.04", "00.1.2.3", "1.2.3.4a", "a.2.3.4", "1.2.3.-4", "1.2.3.+4", " 1.2.3.4",
    "1.2.3.4 ", "0x1.2.3.4", "[1.2.3.4]", "1.2.3.\u{664}", "1.2.3.4\u{301}",
  ])
  func `Other spellings are names`(text: String) {
    #expect(IPAddress(text) == nil)
  }

  @Test(arguments: [
    ("::", [UInt8](repeating: 0, count: 16)),
    ("[2001:db8::1]", [0x20, 1, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1]),
    ("::ffff:1.2.3.4", [UInt8](repeating: 0, count: 10) + [255, 255, 1, 2, 3, 4]),
  ])
  func `An IPv6 address may have brackets, a gap and an IPv4 address at its end`(
    text: String, bytes: [UInt8]
  ) {
    #expect(IPAddress(text)?.bytes == bytes)
  }

  @Test(arguments: [":", ":::", "::1::", "1:2:3:4:5:6:7", "::1.2.3.04", "::12345", "[::1", "::1]"])
  func `What is no IPv6 address is none`(text: String) {
    #expect(IPAddress(text) == nil)
  }
}
