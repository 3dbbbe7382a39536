/// The first item with each key. Whether two keys are equal is found with the items.
struct FirstItems: Sendable {
  private var numbers = HashedNumbers()

  /// The number of the first item with a key; nil for the first one itself, which is kept.
  /// - Parameter isEqual: whether the item with that number has the same key.
  mutating func number(
    of key: some Hashable, orSet number: Int,
    where isEqual: (Int) throws(UsageError) -> Bool
  ) throws(UsageError) -> Int? {
    let hash = UInt32(truncatingIfNeeded: key.hashValue)
    let slot = try numbers.slot(of: hash, where: isEqual)
    if let known = numbers[slot] { return known }
    numbers.set(number, of: hash, in: slot)
    return nil
  }
}
