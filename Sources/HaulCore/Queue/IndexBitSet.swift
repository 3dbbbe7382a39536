/// A set of small numbers with fast access to the least; no memory while it is empty.
struct IndexBitSet: Sendable {
  private var words: [UInt64] = []
  /// The first word that is not 0; the count of words if all are.
  private var firstWord = 0

  /// The least number.
  var first: Int? {
    firstWord < words.count ? firstWord * 64 + words[firstWord].trailingZeroBitCount : nil
  }

  mutating func insert(_ index: Int) {
    let word = index / 64
    firstWord = first == nil ? word : min(firstWord, word)
    while words.count <= word { words.append(0) }
    words[word] |= 1 << UInt64(index % 64)
  }

  /// Amortised O(1) as long as small numbers do not come again; else O(n / 64).
  mutating func remove(_ index: Int) {
    let word = index / 64
    guard word < words.count else { return }
    words[word] &= ~(1 << UInt64(index % 64))
    while firstWord < words.count, words[firstWord] == 0 { firstWord += 1 }
  }
}
