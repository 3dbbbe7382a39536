/// Positions in a list, as numbers far apart, so that a member can move between two others without
/// changing theirs.
struct RankRange: Hashable, Sendable {
  private(set) var first: Int64 = 0
  private(set) var last: Int64 = 0

  /// The distance between neighbours that are added one after the other.
  static let step: Int64 = 1 << 20

  /// Notes a used rank.
  mutating func note(_ rank: Int64) {
    first = min(first, rank)
    last = max(last, rank)
  }

  mutating func append() -> Int64 {
    last += Self.step
    return last
  }

  mutating func prepend() -> Int64 {
    first -= Self.step
    return first
  }

  /// `count` ranks between two, in order; nil if there is no room.
  static func between(_ lower: Int64, _ upper: Int64, count: Int) -> [Int64]? {
    let step = (upper - lower) / Int64(count + 1)
    return step > 0 ? (1...Int64(count)).map { lower + step * $0 } : nil
  }
}
