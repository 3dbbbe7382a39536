import HaulCore

/// Decides which space is reserved before its bytes arrive: at most one step, or as much as has
/// arrived. So an announced length by itself takes no space.
struct SpaceReservation {
  /// Less is not worth giving back: parts of blocks between claims.
  private static let spare: Int64 = 1 << 20

  private let length: Int64
  private let step: Int64
  private var arrived: Int64
  /// Reserved for bytes that have not arrived.
  private var ahead = ByteRangeSet()
  /// Whether the part file may have space for bytes that have not arrived.
  private(set) var mayHaveSpare: Bool

  /// - Parameters:
  ///   - length: of the whole file.
  ///   - step: the most to reserve at first.
  ///   - claimed: the number of bytes from earlier runs.
  ///   - allocated: the space that the part file has.
  init(length: Int64, step: Int64, claimed: Int64 = 0, allocated: Int64 = 0) {
    self.length = length
    self.step = step
    arrived = claimed
    mayHaveSpare = allocated - claimed >= Self.spare
  }

  /// Notes a write.
  /// - Parameters:
  ///   - claimed: the bytes that the journal claims.
  ///   - writers: the starts of all segments' unclaimed bytes.
  /// - Returns: the range to reserve before the write, if any.
  mutating func note(
    _ write: ByteRange, claimed: ByteRangeSet, writers: some Sequence<Int64>
  ) -> ByteRange? {
    let isReserved = ahead.covers(write)
    ahead.remove(contentsOf: write)
    let allowed = max(step, arrived) - ahead.byteCount
    arrived += write.length
    let start = write.upperBound
    guard !isReserved, allowed > 0, start < length else { return nil }
    var limit = length
    for taken in [claimed, ahead] {
      guard let free = taken.gaps(in: start..<length).ranges.first, free.lowerBound == start
      else { return nil }
      limit = min(limit, free.upperBound)
    }
    for writer in writers where writer >= start { limit = min(limit, writer) }
    let end = min(limit, start + allowed)
    guard end > start, end == limit || allowed >= step else { return nil }
    ahead.insert(contentsOf: start..<end)
    mayHaveSpare = true
    return write.lowerBound..<end
  }

  mutating func noteReturned() {
    ahead = ByteRangeSet()
    mayHaveSpare = false
  }
}
