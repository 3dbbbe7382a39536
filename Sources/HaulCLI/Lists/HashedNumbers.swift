/// The numbers of items, by hashes of their keys. Of a key only 32 bits are held, because inputs
/// are long: whether an item has a key is found with the item.
package struct HashedNumbers: Sendable {
  /// A hash and a number; 0 for none. At most three quarters are taken, so that a free one is near.
  private var slots = [UInt64](repeating: 0, count: 16)
  private var count = 0
  /// The upper bits of a hash say where its slot is.
  private var shift: UInt32 = 28

  package init() {}

  /// The slot of the item with a key, or the one that is free for it.
  /// - Parameters:
  ///   - hash: of the key, with a seed that others do not know.
  ///   - hasKey: whether the item with that number has the key.
  package func slot<Failure: Error>(
    of hash: UInt32, where hasKey: (Int) throws(Failure) -> Bool
  ) throws(Failure) -> Int {
    var slot = Int(hash >> shift)
    while slots[slot] != 0 {
      if slots[slot] >> 32 == UInt64(hash), let number = self[slot], try hasKey(number) {
        return slot
      }
      slot = (slot + 1) & (slots.count - 1)
    }
    return slot
  }

  /// The number in a slot; nil if that is free.
  package subscript(_ slot: Int) -> Int? {
    let number = Int(UInt32(truncatingIfNeeded: slots[slot]))
    return number == 0 ? nil : number
  }

  /// Sets the number of a key. After it, slots are others.
  /// - Parameter number: from 1.
  package mutating func set(_ number: Int, of hash: UInt32, in slot: Int) {
    if slots[slot] == 0 { count += 1 }
    slots[slot] = UInt64(hash) << 32 | UInt64(UInt32(number))
    if count > slots.count / 4 * 3, shift > 0 { grow() }
  }

  private mutating func grow() {
    let old = slots
    slots = [UInt64](repeating: 0, count: old.count * 2)
    shift -= 1
    for entry in old where entry != 0 {
      var slot = Int(UInt32(entry >> 32) >> shift)
      while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
      slots[slot] = entry
    }
  }

  /// All numbers, in no order.
  package func forEach(_ take: (Int) -> Void) {
    for slot in slots.indices { if let number = self[slot] { take(number) } }
  }
}
