import HaulCore
import Testing

@Suite struct TerminalTextTests {
  @Test(arguments: [
    ("plain text ~", "plain text ~"), ("\u{1B}[31mred", "\\x1b[31mred"),
    ("a\nb\r\tc", "a\\nb\\r\\tc"),
    ("\u{7}", "\\x07"), ("\u{7F}", "\\x7f"), ("\u{9B}2J", "\\u{9b}2J"),
    ("a\u{202E}b", "a\\u{202e}b"),
    ("\u{2066}x\u{2069}", "\\u{2066}x\\u{2069}"), ("\u{200F}", "\\u{200f}"),
    ("\u{2028}", "\\u{2028}"), ("\r\n", "\\r\\n"), ("é漢👩‍👧", "é漢👩‍👧"), ("", ""),
  ])
  func `Text that could control the terminal is escaped`(text: String, result: String) {
    #expect(TerminalText.escaped(text) == result)
  }

  @Test func `Every control character and bidirectional control is escaped`() throws {
    let bidirectional: [ClosedRange<UInt32>] = [
      0x61C...0x61C, 0x200E...0x200F, 0x202A...0x202E, 0x2066...0x2069,
    ]
    for value in [0...0x1F, 0x7F...0x9F] + bidirectional {
      for number in value {
        let scalar = try #require(Unicode.Scalar(number))
        let result = TerminalText.escaped("a\(Character(scalar))b")
        #expect(result.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }, "\(number)")
      }
    }
  }

  @Test(arguments: [
    ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("漢字", 4), ("한", 2),
    ("\u{1112}\u{1161}\u{11AB}", 2), ("Ａ", 2), ("ｱ", 1), ("👍", 2), ("…", 1), ("ж", 1),
  ])
  func `Cells are counted`(text: String, cells: Int) { #expect(TerminalText.width(text) == cells) }

  @Test(arguments: [
    ("abcdef", 6, "abcdef"), ("abcdef", 5, "abcd…"), ("abcdef", 1, "…"), ("abcdef", 0, ""),
    ("abc", -1, ""), ("漢字漢字", 5, "漢字…"), ("漢字漢字", 4, "漢…"),
    ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"),
    ("", 0, ""),
  ])
  func `Text is cut to the width between graphemes`(text: String, cells: Int, result: String) {
    #expect(TerminalText.cut(text, to: cells) == result)
    #expect(TerminalText.width(result) <= max(cells, 0))
  }

  @Test(arguments: [
    ("ubuntu-26.04-desktop-amd64.iso", 30, "ubuntu-26.04-desktop-amd64.iso"),
    ("ubuntu-26.04-desktop-amd64.iso", 16, "ubuntu-26.…4.iso"),
    ("日本語の長い名前.iso", 12, "日本語の…iso"),
    ("abcdefghij", 8, "abcdefg…"), ("abc", 0, ""),
  ])
  func `A name is cut in its middle, so that its end is seen`(
    name: String, cells: Int, result: String
  ) {
    let cut = TerminalText.cutName(name, to: cells)
    #expect(TerminalText.width(cut) <= cells)
    #expect(cut == result)
  }

  @Test func `Where letters are ASCII, the mark is too`() {
    #expect(TerminalText.cut("abcdef", to: 4, mark: "~") == "abc~")
  }
}
