import HaulCore
import HaulKit
import Testing

/// The parts of a download, for people.
@Suite struct TransferSegmentsTests {
  @Test func `says what is on disk and what a connection has still to fetch`() {
    var plan = SegmentPlan(length: 1000, received: ByteRangeSet([0..<100, 500..<600]))
    _ = plan.assign(minimumSplit: 10)
    let segments = TransferSegments(plan)
    #expect(segments.length == 1000)
    #expect(segments.present == [0..<100, 500..<600])
    #expect(segments.active == [100..<500])
  }

  @Test func `joins the ranges with the smallest gaps when there are too many`() {
    let count = TransferSegments.maximum + 100
    // Each has 5 bytes, and the gap after every second one is smaller.
    let ranges = (0..<count).map { number -> ByteRange in
      let start = Int64(number / 2 * 30 + number % 2 * 7)
      return start..<start + 5
    }
    let segments = TransferSegments(SegmentPlan(received: ByteRangeSet(ranges)))
    #expect(segments.present.count <= TransferSegments.maximum)
    #expect(segments.present.first == 0..<12)
    #expect(segments.present.last?.upperBound == ranges.last?.upperBound)
    #expect(segments.present.allSatisfy { $0.length == 12 })
  }
}
