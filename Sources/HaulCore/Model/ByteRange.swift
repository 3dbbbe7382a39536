/// Byte offsets from `lowerBound` up to, not including, `upperBound`.
package typealias ByteRange = Range<Int64>

/// A set of byte offsets, held as sorted ranges that do not touch.
package typealias ByteRangeSet = RangeSet<Int64>

extension Range where Bound == Int64 {
  /// The number of bytes in the range (`count` wants an `Int` stride; this is exact on every platform).
  package var length: Int64 { upperBound - lowerBound }
}

extension RangeSet where Bound == Int64 {
  /// The number of bytes in the set; O(ranges).
  package var byteCount: Int64 { ranges.reduce(0) { $0 + $1.length } }

  /// The bytes of `whole` that are not in the set.
  package func gaps(in whole: ByteRange) -> ByteRangeSet {
    whole.isEmpty ? ByteRangeSet() : ByteRangeSet(whole).subtracting(self)
  }

  /// Whether every byte of `range` is in the set.
  package func covers(_ range: ByteRange) -> Bool {
    gaps(in: range).isEmpty
  }
}
