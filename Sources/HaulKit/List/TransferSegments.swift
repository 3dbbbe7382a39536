package import HaulCore

/// Which bytes of a running download are on disk, and which are being fetched.
package struct TransferSegments: Hashable, Sendable {
  /// Nil while it is unknown.
  package let length: Int64?
  /// In order; at most `maximum`: of more, those with the smallest gaps between them are joined.
  package let present: [ByteRange]
  /// What each connection has still to fetch.
  package let active: [ByteRange]

  package static let maximum = 512

  package init(_ plan: SegmentPlan) {
    length = plan.length
    present = Self.joined(plan.received.ranges)
    active = Self.joined(
      plan.segments.values.filter { $0.written < $0.end }.map { $0.written..<$0.end }
        .sorted { $0.lowerBound < $1.lowerBound })
  }

  private static func joined(_ ranges: [ByteRange]) -> [ByteRange] {
    guard ranges.count > maximum else { return ranges }
    let gaps = zip(ranges, ranges.dropFirst()).map { $1.lowerBound - $0.upperBound }
    let smallest = gaps.sorted()[ranges.count - maximum - 1]
    var joined: [ByteRange] = []
    for range in ranges {
      if let last = joined.last, range.lowerBound - last.upperBound <= smallest {
        joined[joined.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
      } else {
        joined.append(range)
      }
    }
    return joined
  }
}
