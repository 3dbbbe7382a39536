import HaulCore
import Testing

/// Sets of byte offsets.
@Suite struct ByteRangeSetTests {
  @Test(arguments: 0..<20 as Range<UInt64>)
  func `They contain the bytes that were inserted and not removed`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var set = ByteRangeSet()
    var model = Set<Int64>()
    for _ in 0..<200 {
      let start = Int64.random(in: 0..<60, using: &random)
      let range = start..<(start + Int64.random(in: 0..<12, using: &random))
      if Bool.random(using: &random) {
        set.insert(contentsOf: range)
        model.formUnion(range)
      } else {
        set.remove(contentsOf: range)
        model.subtract(range)
      }
      compare(set, model, range)
    }
  }

  private func compare(_ set: ByteRangeSet, _ model: Set<Int64>, _ range: ByteRange) {
    #expect(set.ranges.flatMap { Array($0) } == model.sorted())
    #expect(zip(set.ranges, set.ranges.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound })
    #expect(set.byteCount == Int64(model.count))
    #expect(set.isEmpty == model.isEmpty)
    for other in [range, 0..<72, 20..<30, 25..<26, 40..<40] {
      #expect(set.covers(other) == model.isSuperset(of: other))
      #expect(set.isDisjoint(other) == model.isDisjoint(with: other))
      #expect(
        set.gaps(in: other).ranges.flatMap { Array($0) } == other.filter { !model.contains($0) })
    }
    #expect(set == ByteRangeSet(set.ranges.reversed()))
  }
}
