import HaulCore
import HaulTesting
import Testing

/// Values that go back to their server.
@Suite struct FieldTextTests {
  @Test(
    arguments: [
      [], Array("plain".utf8), Array("caf\u{E9} \u{10FFFF}".utf8), [0xE9], [0xC3, 0xA9], [0xC3],
      [0xC3, 0x41], [0xED, 0xA0, 0x80], [0xF4, 0x8F, 0xBB], [0xF4, 0x90, 0x80, 0x80],
      Array("\u{10FE7F}\u{10FE80}\u{10FEE9}\u{10FEFF}\u{10FF00}".utf8), Array(0x80...0xFF),
    ] as [[UInt8]])
  func `Their bytes come back, whatever they are`(value: [UInt8]) {
    let text = FieldText.reversible(value)
    #expect(FieldText.bytes(of: text) == value)
    #expect(FieldText.isText(text) == Array(text.utf8).elementsEqual(value))
  }

  @Test func `Random bytes come back`() {
    var random = SplitMix64(seed: 7)
    for _ in 0..<2000 {
      // Mostly the bytes with which long sequences begin and go on.
      let value = (0..<Int.random(in: 1...8, using: &random)).map { _ in
        [0x41, 0xF4, 0x8F, 0xBA, 0xBB, UInt8.random(in: 0...255, using: &random)]
          .randomElement(using: &random) ?? 0
      }
      #expect(FieldText.bytes(of: FieldText.reversible(value)) == value)
    }
  }

  @Test func `Tags whose bytes differ only in their encoding are two`() throws {
    let quoted = { (bytes: [UInt8]) in EntityTag(FieldText.reversible([0x22] + bytes + [0x22])) }
    let latin = try #require(quoted([0xE9]))
    let utf8 = try #require(quoted([0xC3, 0xA9]))
    #expect(latin.stronglyMatches(latin) && utf8.stronglyMatches(utf8))
    #expect(!latin.weaklyMatches(utf8))
    let windows = try #require(quoted([0x80]))
    let euro = try #require(quoted(Array("\u{20AC}".utf8)))
    #expect(!windows.weaklyMatches(euro))
    // What stands for a byte is another value than the byte.
    let character = try #require(quoted(Array("\u{10FEE9}".utf8)))
    #expect(!latin.weaklyMatches(character))
  }
}
