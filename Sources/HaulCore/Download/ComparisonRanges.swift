/// Where to compare bytes on disk with the server's, when no validator proves that both are of the
/// same version.
package enum ComparisonRanges {
  /// How many bytes are compared at each offset.
  package static let length: Int64 = 16 << 10
  /// The smallest number of offsets, spread evenly over the bytes on disk.
  package static let minimumCount: Int64 = 16

  /// Ranges in order, without overlaps: at the end of every received range, at the start of every
  /// segment, and at `minimumCount` evenly spread offsets. A small file is compared as a whole.
  /// - Parameter segmentStarts: where segments of earlier runs began.
  package static func candidates(in received: ByteRangeSet, segmentStarts: [Int64]) -> [ByteRange] {
    let total = received.byteCount
    guard total > minimumCount * length else { return Array(received.ranges) }
    var offsets = segmentStarts
    for range in received.ranges { offsets.append(range.upperBound - length) }
    for number in 0..<minimumCount {
      offsets.append(position(of: total / minimumCount * number, in: received))
    }
    return ranges(at: offsets.sorted(), in: received)
  }

  /// The offset of the received byte that has `count` received bytes before it.
  private static func position(of count: Int64, in received: ByteRangeSet) -> Int64 {
    var rest = count
    for range in received.ranges {
      if rest < range.length { return range.lowerBound + rest }
      rest -= range.length
    }
    return received.ranges.last?.upperBound ?? 0
  }

  private static func ranges(at offsets: [Int64], in received: ByteRangeSet) -> [ByteRange] {
    var found: [ByteRange] = []
    var ranges = received.ranges[...]
    for offset in offsets {
      while let range = ranges.first, range.upperBound <= offset { ranges.removeFirst() }
      guard let range = ranges.first else { break }
      let start = max(offset, range.lowerBound, found.last?.upperBound ?? 0)
      let part = start..<min(start + length, range.upperBound)
      if start < range.upperBound { found.append(part) }
    }
    return found
  }
}
