/// Byte offsets from `lowerBound` up to, not including, `upperBound`.
package typealias ByteRange = Range<Int64>

extension Range where Bound == Int64 {
  /// The number of bytes in the range; `count` is an `Int`, this is exact on every platform.
  package var length: Int64 { upperBound - lowerBound }
}
