/// A set of byte offsets, stored as sorted ranges that do not touch.
///
/// The standard library's `RangeSet` is slower for many small files, because its generics are not
/// specialised here.
package struct ByteRangeSet: Hashable, Sendable {
  package private(set) var ranges: [ByteRange]

  package init() { ranges = [] }

  package init(_ range: ByteRange) { ranges = range.isEmpty ? [] : [range] }

  package init(_ ranges: [ByteRange]) {
    self.init()
    for range in ranges { insert(contentsOf: range) }
  }

  package var isEmpty: Bool { ranges.isEmpty }

  /// The number of bytes in the set; O(ranges).
  package var byteCount: Int64 {
    var count: Int64 = 0
    for range in ranges { count += range.length }
    return count
  }

  package mutating func insert(contentsOf range: ByteRange) {
    guard !range.isEmpty else { return }
    let start = count { $0.upperBound < range.lowerBound }
    let end = count { $0.lowerBound <= range.upperBound }
    guard start < end else {
      ranges.insert(range, at: start)
      return
    }
    let lower = min(ranges[start].lowerBound, range.lowerBound)
    ranges[start] = lower..<max(ranges[end - 1].upperBound, range.upperBound)
    if start + 1 < end { ranges.removeSubrange((start + 1)..<end) }
  }

  package mutating func remove(contentsOf range: ByteRange) {
    guard !range.isEmpty else { return }
    let start = count { $0.upperBound <= range.lowerBound }
    let end = count { $0.lowerBound < range.upperBound }
    guard start < end else { return }
    let (lower, upper) = (ranges[start].lowerBound, ranges[end - 1].upperBound)
    var rest: [ByteRange] = []
    if lower < range.lowerBound { rest.append(lower..<range.lowerBound) }
    if range.upperBound < upper { rest.append(range.upperBound..<upper) }
    ranges.replaceSubrange(start..<end, with: rest)
  }

  /// The bytes of `whole` that are not in the set.
  package func gaps(in whole: ByteRange) -> ByteRangeSet {
    var gaps = ByteRangeSet()
    var position = whole.lowerBound
    for range in ranges[count { $0.upperBound <= whole.lowerBound }...] {
      guard range.lowerBound < whole.upperBound else { break }
      if position < range.lowerBound { gaps.ranges.append(position..<range.lowerBound) }
      position = range.upperBound
    }
    if position < whole.upperBound { gaps.ranges.append(position..<whole.upperBound) }
    return gaps
  }

  /// Whether every byte of `range` is in the set.
  package func covers(_ range: ByteRange) -> Bool {
    if range.isEmpty { return true }
    let index = count { $0.upperBound <= range.lowerBound }
    return index < ranges.count && ranges[index].lowerBound <= range.lowerBound
      && range.upperBound <= ranges[index].upperBound
  }

  /// Whether no byte of `range` is in the set.
  package func isDisjoint(_ range: ByteRange) -> Bool {
    if range.isEmpty { return true }
    let index = count { $0.upperBound <= range.lowerBound }
    return index == ranges.count || ranges[index].lowerBound >= range.upperBound
  }

  package func isDisjoint(_ other: ByteRangeSet) -> Bool {
    other.ranges.allSatisfy { isDisjoint($0) }
  }

  /// The number of leading ranges for which a test holds; it must not hold after them. O(log
  /// ranges).
  private func count(before isBefore: (ByteRange) -> Bool) -> Int {
    var (low, high) = (0, ranges.count)
    while low < high {
      let middle = (low + high) / 2
      if isBefore(ranges[middle]) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
