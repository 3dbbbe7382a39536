/// The first item with each key. Whether two keys are equal is found with the items.
struct FirstItems: Sendable {
  private var numbers = HashedNumbers()

  /// The first item with a key; nil for the first one itself, which is kept.
  /// - Parameter item: the item with that number; nil if it has another key.
  mutating func item<Item>(
    with key: some Hashable, orSet number: Int, _ item: (Int) throws(UsageError) -> Item?
  ) throws(UsageError) -> Item? {
    let hash = UInt32(truncatingIfNeeded: key.hashValue)
    var found: Item?
    let slot = try numbers.slot(of: hash) { (known) throws(UsageError) in
      found = try item(known)
      return found != nil
    }
    if found == nil { numbers.set(number, of: hash, in: slot) }
    return found
  }
}
