import HaulCore
import HaulFiles
import Testing

/// Offsets where bytes of an earlier run are compared with the server's.
@Suite
struct ComparisonRangesTests {
  private let count = 3_000_000

  /// The compared ranges of a part file that was written in two segments.
  private func ranges(of content: [UInt8]) throws -> [ByteRange] {
    let scratch = try Scratch()
    let first = try scratch.acquire()
    try first.begin(try sampleHead(Int64(count)))
    try first.write(1_000_000..<2_000_000, of: content)
    try first.write(0..<1_000_000, of: content)
    first.release()
    let second = try scratch.acquire(nonce: 2)
    defer { second.release() }
    #expect(second.recovery.segmentStarts == [0, 1_000_000])
    return try second.comparisonRanges()
  }

  @Test func `The end, the start of each segment, and in between`() throws {
    let ranges = try ranges(of: sampleBytes(count))
    #expect(ranges.count >= 16)
    for offset in [0, 1_000_000, 1_999_999] as [Int64] {
      #expect(ranges.contains { $0.contains(offset) }, "\(offset)")
    }
  }

  @Test func `A range of zeros is moved to other bytes`() throws {
    var content = [UInt8](repeating: 0, count: count)
    content[1_600_000] = 1
    let ranges = try ranges(of: content)
    #expect(ranges.contains { $0.contains(1_600_000) })
  }

  @Test func `If there are only zeros, nothing is compared`() throws {
    #expect(try ranges(of: [UInt8](repeating: 0, count: count)) == [])
  }
}
