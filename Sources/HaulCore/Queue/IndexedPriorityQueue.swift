/// A set of small numbers, each with a key, with fast access to the least key.
package struct IndexedPriorityQueue<Key: Comparable & Sendable>: Sendable {
  private struct Keys: HeapOrder, Sendable {
    var keys: [Key?] = []
    var positions: [Int32] = []

    func precedes(_ left: Int32, _ right: Int32) -> Bool {
      guard let former = keys[Int(left)], let latter = keys[Int(right)] else { return false }
      return former < latter
    }

    mutating func note(_ number: Int32, at position: Int32) {
      positions[Int(number)] = position
    }
  }

  private var keys = Keys()
  private var heap = IndexedHeap()

  package init() {}

  /// The number with the least key, and that key.
  package var first: (number: Int, key: Key)? {
    guard let number = heap.first.map(Int.init), let key = keys.keys[number] else { return nil }
    return (number, key)
  }

  /// Inserts a number, changes its key or, with nil, removes it. An unchanged key costs nothing.
  package mutating func set(_ number: Int, to key: Key?) {
    if number >= keys.keys.count {
      guard key != nil else { return }
      while keys.keys.count <= number {
        keys.keys.append(nil)
        keys.positions.append(-1)
      }
    }
    let position = keys.positions[number]
    guard keys.keys[number] != key else { return }
    keys.keys[number] = key
    if position < 0 {
      heap.insert(Int32(truncatingIfNeeded: number), in: &keys)
    } else if key == nil {
      heap.remove(at: position, in: &keys)
    } else {
      heap.update(at: position, in: &keys)
    }
  }
}
