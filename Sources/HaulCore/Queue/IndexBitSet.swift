/// A set of small numbers whose least one is at hand; no memory until there is one.
struct IndexBitSet: Sendable {
  private var words: [UInt64] = []
  /// The first word that is not 0; if all are, one behind them.
  private var firstWord = 0

  /// The least one.
  var first: Int? {
    firstWord < words.count ? firstWord * 64 + words[firstWord].trailingZeroBitCount : nil
  }

  mutating func insert(_ index: Int) {
    let word = index / 64
    firstWord = first == nil ? word : min(firstWord, word)
    while words.count <= word { words.append(0) }
    words[word] |= 1 << UInt64(index % 64)
  }

  /// O(1) over time as long as small ones do not come again; else O(n / 64).
  mutating func remove(_ index: Int) {
    let word = index / 64
    guard word < words.count else { return }
    words[word] &= ~(1 << UInt64(index % 64))
    while firstWord < words.count, words[firstWord] == 0 { firstWord += 1 }
  }
}
