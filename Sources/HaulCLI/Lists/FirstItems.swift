/// The first item with each key. Only a hash of the key is held, because lists are long: whether
/// two keys are equal is found with the items.
struct FirstItems: Sendable {
  private var numbers: [Int: UInt32] = [:]

  /// The first item with a key; nil for the first one itself, which is kept.
  /// - Parameter item: the item with that number; nil if it has another key.
  mutating func item<Item>(
    with key: some Hashable, orSet number: Int, _ item: (Int) throws(UsageError) -> Item?
  ) throws(UsageError) -> Item? {
    var hash = key.hashValue
    // One lookup, because few keys exist already.
    while let known = numbers.updateValue(UInt32(number), forKey: hash) {
      numbers[hash] = known
      if let found = try item(Int(known)) { return found }
      hash &+= 1
    }
    return nil
  }
}
