import HaulCore
import Testing

/// Addresses that stand for several.
@Suite struct AddressPatternTests {
  private func addresses(_ text: String) throws -> [String] {
    let pattern = try AddressPattern(text)
    return (0..<pattern.count).map { pattern[$0].text }
  }

  @Test(arguments: [
    ("a[1-3]", ["a1", "a2", "a3"]), ("a[08-10].z", ["a08.z", "a09.z", "a10.z"]),
    ("[8-10]", ["8", "9", "10"]), ("[1-9:4]", ["1", "5", "9"]), ("[1-8:9]", ["1"]),
    ("[a-c]", ["a", "b", "c"]), ("[A-F:2]", ["A", "C", "E"]), ("{a,b}", ["a", "b"]),
    ("f{,.sha256}", ["f", "f.sha256"]), ("[1-2]{x,y}", ["1x", "1y", "2x", "2y"]),
    ("http://[::1]:8080/[1-1]", ["http://[::1]:8080/1"]),
  ])
  func `Each address is there once, in curl's order`(_ text: String, wanted: [String]) throws {
    #expect(try addresses(text) == wanted)
    #expect(try AddressPattern(text).isPattern)
  }

  @Test(arguments: [
    "https://h/a", "http://[::1]/x", "http://[fe80::1%25eth-0]/", "https://h/{id}", "https://h/[x]",
    "https://h/?q={\"a\":[1,2],\"b\":3}", "https://h/{a,b", "https://h/[1-2", "https://h/[1-x]",
    "https://h/[1-2:3:4]", "https://h/[-1-2]", "https://h/[1-1234567890123456789]",
    "https://h/{a{1,2}}", "https://h/a\\b", "",
  ])
  func `What is no pattern stays as it is`(_ text: String) throws {
    #expect(try addresses(text) == [text])
    #expect(try !AddressPattern(text).isPattern)
  }

  @Test func `A bracket or a brace behind a backslash is text`() throws {
    #expect(try addresses(#"h/\[1-2\]\{a,b\}"#) == ["h/[1-2]{a,b}"])
  }

  @Test(arguments: ["[9-1]", "[1-2:0]", "[c-a]", "[a-Z]"])
  func `A range that cannot be is an error`(_ text: String) {
    #expect(throws: AddressPattern.Malformed.self) { try AddressPattern("https://h/\(text)") }
  }

  @Test func `The number of addresses does not overflow`() throws {
    let pattern = try AddressPattern(String(repeating: "[0-999999999999999999]", count: 3))
    #expect(pattern.count == .max)
    #expect(pattern[0].text == "000")
  }

  @Test func `A number sign and a number are a value`() throws {
    let (text, values) = try AddressPattern("h/{a,b}/[01-02]")[3]
    #expect(text == "h/b/02" && values == ["b", "02"])
    let filled = AddressPattern.filled("#1-#2-#3-#0-#-##1", with: values)
    #expect(filled == "b-02-#3-#0-#-#b")
  }
}
