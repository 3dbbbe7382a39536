import HaulCore
import HaulTesting
import Testing

@Suite struct IDIndexTests {
  /// Few bits, so that many ids have the same home slot; and ids as they are created.
  @Test(arguments: [UInt64(0xFF), 0xFFF, 0xFF_FFFF_FFFF])
  func `The table agrees with a dictionary through random insertions and removals`(mask: UInt64)
    throws
  {
    var generator = SplitMix64(seed: mask)
    var table = IDIndex()
    var model: [TransferID: UInt32] = [:]
    for step in 0..<20_000 {
      let known = model.keys.randomElement(using: &generator)
      let made = try #require(TransferID(bits: generator.next() & mask))
      let id = generator.next() % 2 == 0 ? known ?? made : made
      // It grows, shrinks, and grows again.
      if generator.next() % 100 < (step / 5000 % 2 == 0 ? 70 : 30) {
        let number = UInt32(truncatingIfNeeded: generator.next())
        #expect(table.set(id, to: number) == (model.updateValue(number, forKey: id) == nil))
      } else {
        #expect(table.remove(id) == model.removeValue(forKey: id))
      }
      #expect(table.count == model.count)
      #expect(table[made] == model[made])
    }
    for (id, number) in model { #expect(table[id] == number) }
    for id in model.keys { table.remove(id) }
    #expect(table.isEmpty)
  }

  @Test func `Reserved capacity suffices for that many ids`() throws {
    var table = IDIndex()
    table.reserve(1000)
    table.set(try #require(TransferID(bits: 7)), to: 1)
    table.reserve(5000)
    #expect(table[try #require(TransferID(bits: 7))] == 1)
    for bits in UInt64(0)..<5000 {
      table.set(try #require(TransferID(bits: bits)), to: UInt32(bits))
    }
    #expect(table.count == 5000)
    #expect(table[try #require(TransferID(bits: 4999))] == 4999)
  }

  @Test func `Adding many ids at once reports whether all were new`() throws {
    var generator = SplitMix64(seed: 5)
    let ids = (0..<50_000).map { _ in TransferID(using: &generator) }
    let entries = ids.enumerated().map { (id: $1, number: UInt32($0)) }
    var table = IDIndex()
    let areNew = [table.add(entries[..<20_000]), table.add(entries[20_000...])]
    #expect(areNew == [true, true])
    #expect(table.count == Set(ids).count)
    for (id, number) in entries { #expect(table[id] == number) }
    let isNew = table.add(entries[7...7])
    #expect(!isNew)
    for id in ids[1...] { table.remove(id) }
    #expect(table.count == 1)
    #expect(table[ids[0]] == 0)
  }

  @Test func `An id keeps its first number`() throws {
    let id = try #require(TransferID(bits: 9))
    var table = IDIndex()
    let numbers = [table.number(of: id, orSet: 4), table.number(of: id, orSet: 5)]
    #expect(numbers == [nil, 4])
    #expect(table[id] == 4)
  }
}
