/// The places of a list as numbers far apart, so that one can be moved between two others without
/// touching them.
struct RankRange: Hashable, Sendable {
  private(set) var first: Int64 = 0
  private(set) var last: Int64 = 0

  /// The room between neighbours when they are added.
  static let step: Int64 = 1 << 20

  /// Notes a place that is taken.
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

  /// `count` places between two, in order; nil when there is no room.
  static func between(_ lower: Int64, _ upper: Int64, count: Int) -> [Int64]? {
    let step = (upper - lower) / Int64(count + 1)
    return step > 0 ? (1...Int64(count)).map { lower + step * $0 } : nil
  }
}
