/// The order of the numbers in an `IndexedHeap`, and their positions.
package protocol HeapOrder {
  /// Whether the first goes before the second.
  func precedes(_ left: Int32, _ right: Int32) -> Bool
  /// Notes the position of a number in the heap; -1 when it is removed.
  mutating func note(_ number: Int32, at position: Int32)
}

/// A binary heap of numbers with known positions, so that any of them can be moved or removed.
///
/// An entry has four bytes; the values behind the numbers are stored elsewhere. Each change costs
/// at most 2 log2 n + 1 comparisons, and leaves no outdated entries.
package struct IndexedHeap: Sendable {
  private var numbers: [Int32] = []

  package init() {}

  package var first: Int32? { numbers.first }
  package var count: Int { numbers.count }

  package mutating func insert(_ number: Int32, in order: inout some HeapOrder) {
    numbers.append(number)
    _ = rise(from: numbers.count - 1, to: 0, in: &order)
  }

  /// Removes the number at `position`.
  package mutating func remove(at position: Int32, in order: inout some HeapOrder) {
    let hole = Int(position)
    order.note(numbers[hole], at: -1)
    let last = numbers.removeLast()
    guard hole < numbers.count else {
      // A heap that is empty again frees the memory of a million.
      if numbers.isEmpty { numbers = [] }
      return
    }
    numbers[hole] = last
    restoreOrder(at: hole, in: &order)
  }

  /// Restores the order after a change of the key of the number at `position`.
  package mutating func update(at position: Int32, in order: inout some HeapOrder) {
    restoreOrder(at: Int(position), in: &order)
  }

  private mutating func restoreOrder(at position: Int, in order: inout some HeapOrder) {
    if !rise(from: position, to: 0, in: &order) { sink(from: position, in: &order) }
  }

  /// Returns whether it moved up.
  private mutating func rise(
    from start: Int, to end: Int, in order: inout some HeapOrder
  ) -> Bool {
    let number = numbers[start]
    var hole = start
    while hole > end {
      let parent = (hole - 1) / 2
      guard order.precedes(number, numbers[parent]) else { break }
      put(numbers[parent], at: hole, in: &order)
      hole = parent
    }
    put(number, at: hole, in: &order)
    return hole != start
  }

  /// Sinks to the end and rises from there: a former last element usually belongs near the end, and
  /// sinking costs only one comparison per level.
  private mutating func sink(from start: Int, in order: inout some HeapOrder) {
    let number = numbers[start]
    var hole = start
    while case let left = 2 * hole + 1, left < numbers.count {
      let right = left + 1
      let isRight = right < numbers.count && order.precedes(numbers[right], numbers[left])
      let child = isRight ? right : left
      put(numbers[child], at: hole, in: &order)
      hole = child
    }
    numbers[hole] = number
    _ = rise(from: hole, to: start, in: &order)
  }

  private mutating func put(_ number: Int32, at position: Int, in order: inout some HeapOrder) {
    numbers[position] = number
    order.note(number, at: Int32(truncatingIfNeeded: position))
  }
}
