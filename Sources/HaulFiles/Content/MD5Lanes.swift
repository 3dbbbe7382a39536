import CHaulSystem

/// Incremental MD5 of several messages of one length at once (RFC 1321).
struct MD5Lanes: Sendable {
  /// The most messages.
  static let count = Int(HAUL_MD5_LANES)
  /// Messages are taken in multiples of this, in bytes.
  static let block = 64

  /// The first register of every message, then the second of every one, and so on.
  private var registers = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476].flatMap {
    [UInt32](repeating: $0, count: count)
  }
  /// The length of one message, in bytes.
  private var length: UInt64 = 0

  /// Adds the same number of bytes, a multiple of 64, to each message.
  mutating func update(_ messages: [UnsafeRawBufferPointer]) {
    let count = messages[0].count
    precondition(count % Self.block == 0 && messages.allSatisfy { $0.count == count })
    length += UInt64(count)
    // A lane without a message computes the first one.
    let lanes = (0..<Self.count).map { lane in
      (lane < messages.count ? messages[lane] : messages[0]).bindMemory(to: UInt8.self).baseAddress
    }
    haul_md5_lanes(&registers, lanes, count / Self.block)
  }

  /// The digests of all bytes so far, of the first so many messages.
  func digests(of messages: Int) -> [[UInt8]] {
    var end = [UInt8](repeating: 0, count: Self.block - 8) + (length << 3).littleEndianBytes
    end[0] = 0x80
    var last = self
    end.withUnsafeBytes { last.update([$0]) }
    return (0..<messages).map { lane in
      (0..<4).flatMap { last.registers[$0 * Self.count + lane].littleEndianBytes }
    }
  }
}
