import HaulCore
import Testing

/// Text of protocols is split and compared by its bytes.
@Suite struct ByteTextTests {
  /// Each is one Character in Swift, together with the separator.
  static let marks = ["\u{301}", "\u{200D}", "\u{FE0F}", "\u{20E3}"]

  @Test(arguments: marks)
  func `a mark after a separator does not hide it`(mark: String) {
    let text = "a:\(mark)b"
    #expect(!text.contains(":"), "as Characters")
    #expect(text.byteSplit(separator: ":").map(String.init) == ["a", "\(mark)b"])
    #expect(text.firstByteIndex(of: ":") == text.lastByteIndex(of: ":"))
    #expect(text.hasBytes(":"))
    #expect(text.prefix(beforeAnyOf: ";:") == "a")
    #expect(":\(mark)b".hasBytePrefix(":"))
    #expect(":\(mark)b".dropping(bytePrefix: ":").map(String.init)?.isByteEqual("\(mark)b") == true)
    #expect(" \(mark)b".droppingBytes(" ").isByteEqual("\(mark)b"))
    #expect(text.replacingBytes(":", with: "=").isByteEqual("a=\(mark)b"))
  }

  @Test func `a sign before a separator does not hide it`() {
    let text = "a\u{600}/b"
    #expect(!text.contains("/"), "as Characters")
    #expect(text.byteSplit(separator: "/").map(String.init) == ["a\u{600}", "b"])
    #expect("a\u{600}/".hasByteSuffix("/"))
    #expect("a\u{600}/".dropping(byteSuffix: "/").map(String.init) == "a\u{600}")
    #expect("a\u{600} ".trimmingBytes(" ").isByteEqual("a\u{600}"))
  }

  @Test func `an equivalent character is another one`() {
    #expect("\u{37E}" == ";", "as texts")
    #expect(!"a\u{37E}b".hasBytes(";"))
    #expect("a\u{37E}b".byteSplit(separator: ";").count == 1)
    #expect(!"\u{212A}eep".hasBytePrefix("Keep"))
    #expect(!"e\u{301}".isByteEqual("\u{E9}"))
  }

  @Test func `empty parts, and the most splits`() {
    func split(_ text: String, _ most: Int, _ omitting: Bool) -> [String] {
      text.byteSplit(separator: ",", maxSplits: most, omittingEmptySubsequences: omitting)
        .map(String.init)
    }
    #expect(split("a,,b,", .max, true) == ["a", "b"])
    #expect(split("a,,b,", .max, false) == ["a", "", "b", ""])
    #expect(split("a,b,c", 1, false) == ["a", "b,c"])
    #expect("  ".trimmingBytes(" ").isEmpty)
    #expect("".hasBytePrefix(""))
    #expect("abc".firstByteRange(of: "bc").map { String("abc"[$0]) } == "bc")
    #expect("abc".firstByteRange(of: "cd") == nil)
  }
}
