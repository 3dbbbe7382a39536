/// A small number for each of many ids: open hash tables with twelve bytes per entry. Ids are
/// random, so a multiplication is enough hashing.
///
/// Many ids are spread over tables that grow one by one. A single table of a million would need
/// twice its memory while it grows, and would leave holes in memory.
package struct IDIndex: Sendable {
  /// A single table while there are few ids.
  private var tables: ContiguousArray<HashTable> = [HashTable()]

  /// The most entries of the single table before it is split.
  private static let maximumInOne = 16_384
  /// The number of tables after the split.
  private static let tableCount = 64

  package init() {}

  package var count: Int { tables.reduce(0) { $0 + $1.count } }

  package var isEmpty: Bool { tables.allSatisfy { $0.count == 0 } }

  /// Makes room for this many in total.
  package mutating func reserve(_ wanted: Int) {
    if wanted > Self.maximumInOne { splitTables() }
    // Random ids are not spread quite evenly.
    let each = tables.count == 1 ? wanted : wanted / tables.count + wanted / tables.count / 32
    for index in tables.indices { tables[index].reserve(each) }
  }

  package subscript(id: TransferID) -> UInt32? { tables[table(of: id.bits)].number(of: id.bits) }

  /// Sets the number of an id.
  /// - Returns: whether it had none.
  @discardableResult
  package mutating func set(_ id: TransferID, to number: UInt32) -> Bool {
    update(id) { stored, isNew in
      stored = number
      return isNew
    }
  }

  /// The number of an id. An id without one gets this number, and the result is nil.
  package mutating func number(of id: TransferID, orSet number: UInt32) -> UInt32? {
    update(id) { stored, isNew in
      guard isNew else { return stored }
      stored = number
      return nil
    }
  }

  /// Sets the numbers of these ids, table by table: among a million in random order, each access
  /// would miss the cache.
  /// - Returns: whether none had a number.
  package mutating func add(_ ids: some RandomAccessCollection<(id: TransferID, number: UInt32)>)
    -> Bool
  {
    reserve(count + ids.count)
    var sorted = [[(bits: UInt64, number: UInt32)]](repeating: [], count: tables.count)
    for list in sorted.indices { sorted[list].reserveCapacity(ids.count / tables.count * 17 / 16) }
    for (id, number) in ids { sorted[table(of: id.bits)].append((id.bits, number)) }
    var areNew = true
    for (index, list) in sorted.enumerated() {
      for (bits, number) in list {
        tables[index].update(bits) { stored, isNew in
          stored = number
          areNew = areNew && isNew
        }
      }
    }
    return areNew
  }

  /// Removes an id.
  /// - Returns: its number.
  @discardableResult
  package mutating func remove(_ id: TransferID) -> UInt32? {
    guard let number = tables[table(of: id.bits)].remove(id.bits) else { return nil }
    // A table that is empty again frees the memory of a million ids.
    if isEmpty { self = IDIndex() }
    return number
  }

  private mutating func update<Result>(
    _ id: TransferID, _ body: (inout UInt32, _ isNew: Bool) -> Result
  ) -> Result {
    if tables[0].count >= Self.maximumInOne { splitTables() }
    return tables[table(of: id.bits)].update(id.bits, body)
  }

  private func table(of bits: UInt64) -> Int {
    tables.count == 1 ? 0 : Int(truncatingIfNeeded: HashTable.hash(bits)) % Self.tableCount
  }

  private mutating func splitTables() {
    guard tables.count == 1 else { return }
    let all = tables[0]
    tables = ContiguousArray(repeating: HashTable(), count: Self.tableCount)
    all.forEach { bits, number in
      tables[table(of: bits)].update(bits) { stored, _ in stored = number }
    }
  }
}

/// One table.
private struct HashTable: Sendable {
  private static let none = UInt64.max

  /// By slot; `none` where a slot is empty.
  private var ids: ContiguousArray<UInt64> = []
  private var numbers: ContiguousArray<UInt32> = []
  private(set) var count = 0

  static func hash(_ bits: UInt64) -> UInt64 { (bits &* 0x9E37_79B9_7F4A_7C15) >> 32 }

  mutating func reserve(_ wanted: Int) {
    if wanted > Self.room(ids.count) { move(to: wanted / 4 * 5 + 8) }
  }

  func number(of bits: UInt64) -> UInt32? {
    guard !ids.isEmpty else { return nil }
    let slot = find(bits)
    return ids[slot] == Self.none ? nil : numbers[slot]
  }

  func forEach(_ body: (UInt64, UInt32) -> Void) {
    for (slot, bits) in ids.enumerated() where bits != Self.none { body(bits, numbers[slot]) }
  }

  /// Changes the number of an id, which is inserted if new.
  mutating func update<Result>(
    _ bits: UInt64, _ body: (inout UInt32, _ isNew: Bool) -> Result
  ) -> Result {
    if count >= Self.room(ids.count) { move(to: ids.count / 2 * 3 + 16) }
    let slot = find(bits)
    let isNew = ids[slot] == Self.none
    if isNew {
      ids[slot] = bits
      count += 1
    }
    return body(&numbers[slot], isNew)
  }

  mutating func remove(_ bits: UInt64) -> UInt32? {
    guard !ids.isEmpty else { return nil }
    var hole = find(bits)
    guard ids[hole] != Self.none else { return nil }
    let number = numbers[hole]
    count -= 1
    // Later entries move up, unless that would put them before their home slot.
    var slot = next(hole)
    while ids[slot] != Self.none {
      if distance(from: home(ids[slot]), to: slot) >= distance(from: hole, to: slot) {
        (ids[hole], numbers[hole]) = (ids[slot], numbers[slot])
        hole = slot
      }
      slot = next(slot)
    }
    ids[hole] = Self.none
    return number
  }

  /// The largest number of entries for this many slots: four fifths, so that searches stay short.
  private static func room(_ slotCount: Int) -> Int { slotCount / 5 * 4 }

  private func home(_ bits: UInt64) -> Int { Int((Self.hash(bits) &* UInt64(ids.count)) >> 32) }

  private func next(_ slot: Int) -> Int { slot + 1 == ids.count ? 0 : slot + 1 }

  private func distance(from start: Int, to slot: Int) -> Int {
    slot >= start ? slot - start : slot - start + ids.count
  }

  /// The slot of an id, or the slot where it would be inserted.
  @inline(__always)
  private func find(_ bits: UInt64) -> Int {
    var slot = home(bits)
    while ids[slot] != bits, ids[slot] != Self.none { slot = next(slot) }
    return slot
  }

  private mutating func move(to slotCount: Int) {
    let (oldIDs, oldNumbers) = (ids, numbers)
    ids = ContiguousArray(repeating: Self.none, count: slotCount)
    numbers = ContiguousArray(repeating: 0, count: slotCount)
    for (old, bits) in oldIDs.enumerated() where bits != Self.none {
      let slot = find(bits)
      (ids[slot], numbers[slot]) = (bits, oldNumbers[old])
    }
  }
}
