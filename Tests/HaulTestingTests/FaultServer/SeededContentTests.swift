import HaulTesting
import NIOCore
import Testing

/// Seeded content.
@Suite
struct SeededContentTests {
  @Test func `is the same at any offset and length as in one piece`() {
    let whole = content.bytes(at: 0, count: 300)
    for offset in 0..<40 {
      for count in 0..<40 {
        let piece = content.bytes(at: Int64(offset), count: count)
        #expect(piece == Array(whole[offset..<(offset + count)]), "\(offset) \(count)")
      }
    }
  }

  @Test(arguments: [1 << 32, 6 << 30] as [Int64])
  func `is continuous around 2^32 and at 6 GiB`(offset: Int64) {
    let whole = content.bytes(at: offset - 21, count: 64)
    let halves =
      content.bytes(at: offset - 21, count: 20) + content.bytes(at: offset - 1, count: 44)
    #expect(whole == halves)
    #expect(whole != content.bytes(at: 0, count: 64))
  }

  @Test func `is SplitMix64 of the block index, low byte first`() {
    // The reference sequence of seed 0 begins like this; mixing 0 gives 0, so seed 0 is unchanged.
    let words: [UInt64] = [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F]
    let expected = words.flatMap { word in (0..<8).map { UInt8(word >> (8 * $0) & 255) } }
    #expect(SeededContent(seed: 0).bytes(at: 0, count: 24) == expected)
  }

  @Test func `of neighbouring seeds is not the same content some blocks further`() {
    let first = SeededContent(seed: 1).bytes(at: 0, count: 8192)
    let second = SeededContent(seed: 2).bytes(at: 0, count: 8)
    let blocks = stride(from: 0, to: first.count, by: 8).map { Array(first[$0..<($0 + 8)]) }
    #expect(!blocks.contains(second))
  }

  @Test func `reports the first wrong byte`() {
    var bytes = content.bytes(at: 1003, count: 500)
    #expect(SeededContent.matches(seed: 42, bytes, at: 1003))
    #expect(!SeededContent.matches(seed: 42, bytes, at: 1004))
    bytes[77] ^= 1
    #expect(content.firstMismatch(bytes, at: 1003) == 1080)
  }

  @Test func `has the digest of its bytes`() {
    #expect(
      SeededContent.sha256Hex(seed: 5, length: 0)
        == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    let whole = SeededContent.sha256(seed: 5, length: 600_001)
    #expect(whole == SeededContent(seed: 5).sha256(of: 0..<600_001))
    #expect(whole != SeededContent.sha256(seed: 6, length: 600_001))
    #expect(whole != SeededContent.sha256(seed: 5, length: 600_000))
  }

  @Test(
    arguments: [
      (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
      (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
      (1_735_689_599, "Tue, 31 Dec 2024 23:59:59 GMT"),
    ] as [(Int64, String)])
  func `HTTP dates are correct`(seconds: Int64, text: String) {
    #expect(ServerDate.text(seconds) == text)
  }
}

/// Pacing.
@Suite
struct PacerTests {
  @Test(arguments: [1000, 1 << 20, 64 << 20] as [Int64])
  func `keeps the rate, however late it is asked`(rate: Int64) {
    var pacer = Pacer(.rate(rate), now: .uptimeNanoseconds(0))
    var random = UInt64(7)
    var now = UInt64(0)
    var sent = Int64(0)
    while now < 5_000_000_000 {
      switch pacer.turn(.uptimeNanoseconds(now)) {
      case .write(let count):
        pacer.wrote(count)
        sent += Int64(count)
      case .wait(let deadline):
        // Timers fire up to 8 ms late.
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        now = deadline.uptimeNanoseconds + random >> 33 % 8_000_000
      }
    }
    let expected = Double(rate) * 5
    #expect(abs(Double(sent) - expected) < expected * 0.02, "\(sent) instead of \(expected)")
  }

  @Test func `after a long silence, catches up for a tenth of a second only`() {
    var pacer = Pacer(.rate(1_000_000), now: .uptimeNanoseconds(0))
    let late = NIODeadline.uptimeNanoseconds(60_000_000_000)
    var sent = 0
    while case .write(let count) = pacer.turn(late) {
      pacer.wrote(count)
      sent += count
    }
    #expect((100_000...140_000).contains(sent))
  }
}
