import HaulCore
import Testing

@Suite struct IndexedHeapTests {
  /// Keys of the numbers 0, 1, …; every comparison of two is counted.
  private final class Keys: HeapOrder {
    var keys: [Int]
    var positions: [Int32]
    var comparisons = 0

    init(_ keys: [Int]) {
      self.keys = keys
      positions = [Int32](repeating: -1, count: keys.count)
    }

    func precedes(_ left: Int32, _ right: Int32) -> Bool {
      comparisons += 1
      return keys[Int(left)] < keys[Int(right)]
    }

    func note(_ number: Int32, at position: Int32) { positions[Int(number)] = position }
  }

  @Test func `Elements leave the heap in order after insertions, updates and removals`() throws {
    for seed in UInt64(0)..<20 {
      var generator = SplitMix64(seed: seed)
      var keys = Keys((0..<300).map { _ in Int.random(in: 0...99, using: &generator) })
      var heap = IndexedHeap()
      for number in Int32(0)..<300 { heap.insert(number, in: &keys) }
      var left = Set(Int32(0)..<300)
      for number in Int32(0)..<300 where number % 3 != 0 {
        if number % 3 == 1 {
          heap.remove(at: keys.positions[Int(number)], in: &keys)
          left.remove(number)
          #expect(keys.positions[Int(number)] == -1)
        } else {
          keys.keys[Int(number)] = Int.random(in: 0...99, using: &generator)
          heap.update(at: keys.positions[Int(number)], in: &keys)
        }
      }
      var order: [Int] = []
      while let first = heap.first {
        #expect(left.remove(first) != nil, "seed \(seed)")
        order.append(keys.keys[Int(first)])
        heap.remove(at: 0, in: &keys)
      }
      #expect(left.isEmpty && order == order.sorted(), "seed \(seed)")
      #expect(heap.count == 0)
    }
  }

  @Test func `Each change among 100,000 elements takes a logarithmic number of comparisons`() {
    let count = 100_000
    var generator = SplitMix64(seed: 5)
    var keys = Keys((0..<count).map { _ in Int.random(in: 0...Int.max, using: &generator) })
    var heap = IndexedHeap()
    // 2 log2 n + 1
    let most = 2 * 17 + 1
    for number in 0..<count {
      keys.comparisons = 0
      heap.insert(Int32(number), in: &keys)
      #expect(keys.comparisons <= 17)
    }
    for _ in 0..<1000 {
      let number = Int.random(in: 0..<count, using: &generator)
      keys.keys[number] = Int.random(in: 0...Int.max, using: &generator)
      keys.comparisons = 0
      heap.update(at: keys.positions[number], in: &keys)
      #expect(keys.comparisons <= most)
    }
    for turn in 0..<1000 {
      keys.comparisons = 0
      heap.remove(at: turn.isMultiple(of: 2) ? 0 : Int32(heap.count / 2), in: &keys)
      #expect(keys.comparisons <= most)
    }
  }
}
