/// A set of small numbers with fast access to the least one; it needs no memory while empty.
package struct IndexBitSet: Sendable {
  private var words: [UInt64] = []
  /// The first word that is not 0; the count of words if there is none.
  private var firstWord = 0

  package init() {}

  /// The least number.
  var first: Int? {
    firstWord < words.count ? firstWord * 64 + words[firstWord].trailingZeroBitCount : nil
  }

  package func contains(_ index: Int) -> Bool {
    index / 64 < words.count && words[index / 64] & 1 << UInt64(index % 64) != 0
  }

  package mutating func insert(_ index: Int) {
    let word = index / 64
    firstWord = first == nil ? word : min(firstWord, word)
    while words.count <= word { words.append(0) }
    words[word] |= 1 << UInt64(index % 64)
  }

  /// Amortised O(1) unless smaller numbers are inserted again; then O(n / 64).
  mutating func remove(_ index: Int) {
    let word = index / 64
    guard word < words.count else { return }
    words[word] &= ~(1 << UInt64(index % 64))
    while firstWord < words.count, words[firstWord] == 0 { firstWord += 1 }
  }
}
