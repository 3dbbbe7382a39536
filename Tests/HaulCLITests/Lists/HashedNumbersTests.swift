import HaulCLI
import Testing

/// Numbers of items by hashes of their keys.
@Suite struct HashedNumbersTests {
  /// The numbers of keys, which have these hashes.
  private static func numbers(of keys: [Int], hash: (Int) -> UInt32) -> (HashedNumbers, [Int?]) {
    var numbers = HashedNumbers()
    let found = keys.indices.map { index -> Int? in
      let slot = numbers.slot(of: hash(keys[index])) { keys[$0 - 1] == keys[index] }
      if let number = numbers[slot] { return number }
      numbers.set(index + 1, of: hash(keys[index]), in: slot)
      return nil
    }
    return (numbers, found)
  }

  @Test(arguments: [UInt32(1), 0x1000_0001, 0xFFFF_FFFF, 0x9E37_79B1])
  func `Each key has the number of its first item, however hashes lie`(factor: UInt32) {
    let keys = Array(0..<5000) + Array(0..<5000).reversed()
    let (numbers, found) = Self.numbers(of: keys) { UInt32($0) &* factor }
    #expect(found.prefix(5000).allSatisfy { $0 == nil })
    #expect(found.suffix(5000).map { $0 ?? 0 } == (1...5000).reversed())
    var all: [Int] = []
    numbers.forEach { all.append($0) }
    #expect(all.sorted() == Array(1...5000))
  }

  @Test(arguments: [UInt32.min, .max])
  func `Keys with one hash differ by their items`(hash: UInt32) {
    let (_, found) = Self.numbers(of: [7, 8, 9, 8, 7, 9]) { _ in hash }
    #expect(found == [nil, nil, nil, 2, 1, 3])
  }

  @Test func `A number is replaced in its slot`() {
    var numbers = HashedNumbers()
    for number in 1...3 {
      let slot = numbers.slot(of: 5) { _ in true }
      #expect(numbers[slot] == (number == 1 ? nil : number - 1))
      numbers.set(number, of: 5, in: slot)
    }
  }
}
