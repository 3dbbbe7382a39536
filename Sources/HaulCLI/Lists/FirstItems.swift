/// The first item with each key. Only a hash of the key is held, because lists are long: whether
/// two keys are equal is found with the items.
struct FirstItems: Sendable {
  private var numbers: [Int: UInt32] = [:]

  /// The number of the first item with a key; nil for the first one itself, which is kept.
  /// - Parameter isEqual: whether the item with that number has the same key.
  mutating func number(
    of key: some Hashable, orSet number: Int,
    where isEqual: (Int) throws(UsageError) -> Bool
  ) throws(UsageError) -> Int? {
    var hash = key.hashValue
    // One lookup, because few keys exist already.
    while let known = numbers.updateValue(UInt32(number), forKey: hash) {
      numbers[hash] = known
      if try isEqual(Int(known)) { return Int(known) }
      hash &+= 1
    }
    return nil
  }
}
