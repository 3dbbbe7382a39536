import Crypto
import HaulCore

/// Content that depends only on a seed and an offset, so that a resource of any size needs no disk.
///
/// Byte `o` is byte `o % 8`, counted from the low end, of the SplitMix64 output number `o / 8`.
package struct SeededContent: Hashable, Sendable {
  package let seed: UInt64
  /// Seeds are mixed once; otherwise neighbouring seeds would give the same words some blocks
  /// apart.
  private let start: UInt64

  package init(seed: UInt64) {
    self.seed = seed
    start = Self.mix(seed)
  }

  private static let increment: UInt64 = 0x9E37_79B9_7F4A_7C15
  private static let pieceSize = 256 * 1024

  @inline(__always)
  private static func mix(_ value: UInt64) -> UInt64 {
    var word = value
    word = (word ^ (word &>> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word &>> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word &>> 31)
  }

  @inline(__always)
  private func word(_ block: UInt64) -> UInt64 {
    Self.mix(start &+ (block &+ 1) &* Self.increment)
  }

  /// Fills `target` with the content from `offset` on.
  package func fill(_ target: UnsafeMutableRawBufferPointer, at offset: Int64) {
    guard let base = target.baseAddress else { return }
    var position = 0
    var block = UInt64(offset) / 8
    let skipped = Int(UInt64(offset) % 8)
    if skipped > 0 {
      position = min(8 - skipped, target.count)
      storeBytes(of: word(block) >> UInt64(8 * skipped), to: target, at: 0, count: position)
      block &+= 1
    }
    let words = (target.count - position) / 8
    var index = 0
    while index < words {
      (base + position).storeBytes(of: word(block).littleEndian, as: UInt64.self)
      position &+= 8
      block &+= 1
      index &+= 1
    }
    storeBytes(of: word(block), to: target, at: position, count: target.count - position)
  }

  private func storeBytes(
    of word: UInt64, to target: UnsafeMutableRawBufferPointer, at position: Int, count: Int
  ) {
    for index in 0..<count {
      target[position + index] = UInt8(truncatingIfNeeded: word >> UInt64(8 * index))
    }
  }

  /// `count` bytes from `offset` on.
  package func bytes(at offset: Int64, count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { target, initialized in
      let whole = UnsafeMutableBufferPointer(rebasing: target[0..<count])
      fill(UnsafeMutableRawBufferPointer(whole), at: offset)
      initialized = count
    }
  }

  /// The offset in the content of the first wrong byte of `bytes`; nil if all are right.
  package func firstMismatch(_ bytes: some Sequence<UInt8>, at offset: Int64) -> Int64? {
    let actual = Array(bytes)
    let expected = self.bytes(at: offset, count: actual.count)
    guard actual != expected else { return nil }
    let index = zip(actual, expected).enumerated().first { $0.element.0 != $0.element.1 }?.offset
    return index.map { offset + Int64($0) }
  }

  package func matches(_ bytes: some Sequence<UInt8>, at offset: Int64 = 0) -> Bool {
    firstMismatch(bytes, at: offset) == nil
  }

  /// Calls `body` with the bytes of `range`, in order, at most 256 KiB at a time.
  package func forEachPiece(
    of range: Range<Int64>, _ body: (UnsafeRawBufferPointer) throws -> Void
  ) rethrows {
    let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: Self.pieceSize, alignment: MemoryLayout<UInt64>.alignment)
    defer { buffer.deallocate() }
    var offset = range.lowerBound
    while offset < range.upperBound {
      let count = Int(min(Int64(Self.pieceSize), range.upperBound - offset))
      let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[0..<count])
      fill(piece, at: offset)
      try body(UnsafeRawBufferPointer(piece))
      offset += Int64(count)
    }
  }

  /// The SHA-256 of the bytes of `range`, 32 bytes.
  package func sha256(of range: Range<Int64>) -> [UInt8] {
    var hasher = SHA256()
    forEachPiece(of: range) { hasher.update(bufferPointer: $0) }
    return Array(hasher.finalize())
  }

  /// The SHA-256 of the first `length` bytes, 32 bytes.
  package static func sha256(seed: UInt64, length: Int64) -> [UInt8] {
    SeededContent(seed: seed).sha256(of: 0..<length)
  }

  /// The SHA-256 of the first `length` bytes in lower-case hexadecimal.
  package static func sha256Hex(seed: UInt64, length: Int64) -> String {
    sha256(seed: seed, length: length).hexDigits
  }

  package static func matches(
    seed: UInt64, _ bytes: some Sequence<UInt8>, at offset: Int64 = 0
  ) -> Bool {
    SeededContent(seed: seed).matches(bytes, at: offset)
  }
}
