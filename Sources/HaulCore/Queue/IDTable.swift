/// A small number for each of many ids: open hash tables with twelve bytes an entry. Ids are
/// random, so multiplying them is enough hashing.
///
/// Many ids are spread over tables that grow one by one: a single table of a million would need
/// twice its memory while it grows, and leave holes that nothing else fits.
package struct IDTable: Sendable {
  /// A single table while there are few ids.
  private var pieces: ContiguousArray<Piece> = [Piece()]

  /// The most entries of the single table before it is split.
  private static let mostInOne = 16_384
  /// The number of tables after the split.
  private static let many = 64

  package init() {}

  package var count: Int { pieces.reduce(0) { $0 + $1.count } }

  package var isEmpty: Bool { pieces.allSatisfy { $0.count == 0 } }

  /// Makes room for this many in total.
  package mutating func reserve(_ wanted: Int) {
    if wanted > Self.mostInOne { spread() }
    // Random ids are not spread quite evenly.
    let each = pieces.count == 1 ? wanted : wanted / pieces.count + wanted / pieces.count / 32
    for index in pieces.indices { pieces[index].reserve(each) }
  }

  package subscript(id: TransferID) -> UInt32? { pieces[piece(of: id.bits)].number(of: id.bits) }

  /// Sets the number of an id.
  /// - Returns: whether it had none.
  @discardableResult
  package mutating func set(_ id: TransferID, to number: UInt32) -> Bool {
    update(id) { place, isNew in
      place = number
      return isNew
    }
  }

  /// The number of an id; an id without one gets this number, and nil is returned.
  package mutating func number(of id: TransferID, orSet number: UInt32) -> UInt32? {
    update(id) { place, isNew in
      guard isNew else { return place }
      place = number
      return nil
    }
  }

  /// Sets the numbers of these ids, table by table: in random order, among a million, each access
  /// would miss the cache.
  /// - Returns: whether none had a number.
  package mutating func add(_ ids: some RandomAccessCollection<(id: TransferID, number: UInt32)>)
    -> Bool
  {
    reserve(count + ids.count)
    var sorted = [[(bits: UInt64, number: UInt32)]](repeating: [], count: pieces.count)
    for list in sorted.indices { sorted[list].reserveCapacity(ids.count / pieces.count * 17 / 16) }
    for (id, number) in ids { sorted[piece(of: id.bits)].append((id.bits, number)) }
    var areNew = true
    for (index, list) in sorted.enumerated() {
      for (bits, number) in list {
        pieces[index].update(bits) { place, isNew in
          place = number
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
    guard let number = pieces[piece(of: id.bits)].remove(id.bits) else { return nil }
    // Emptied tables of a million ids free their memory.
    if isEmpty { self = IDTable() }
    return number
  }

  private mutating func update<Result>(
    _ id: TransferID, _ body: (inout UInt32, _ isNew: Bool) -> Result
  ) -> Result {
    if pieces[0].count >= Self.mostInOne { spread() }
    return pieces[piece(of: id.bits)].update(id.bits, body)
  }

  private func piece(of bits: UInt64) -> Int {
    pieces.count == 1 ? 0 : Int(truncatingIfNeeded: Piece.hash(bits)) % Self.many
  }

  private mutating func spread() {
    guard pieces.count == 1 else { return }
    let all = pieces[0]
    pieces = ContiguousArray(repeating: Piece(), count: Self.many)
    all.forEach { bits, number in
      pieces[piece(of: bits)].update(bits) { place, _ in place = number }
    }
  }
}

/// One table.
private struct Piece: Sendable {
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
    let place = find(bits)
    return ids[place] == Self.none ? nil : numbers[place]
  }

  func forEach(_ body: (UInt64, UInt32) -> Void) {
    for (place, bits) in ids.enumerated() where bits != Self.none { body(bits, numbers[place]) }
  }

  /// Changes the number of an id, which is inserted if new.
  mutating func update<Result>(
    _ bits: UInt64, _ body: (inout UInt32, _ isNew: Bool) -> Result
  ) -> Result {
    if count >= Self.room(ids.count) { move(to: ids.count / 2 * 3 + 16) }
    let place = find(bits)
    let isNew = ids[place] == Self.none
    if isNew {
      ids[place] = bits
      count += 1
    }
    return body(&numbers[place], isNew)
  }

  mutating func remove(_ bits: UInt64) -> UInt32? {
    guard !ids.isEmpty else { return nil }
    var hole = find(bits)
    guard ids[hole] != Self.none else { return nil }
    let number = numbers[hole]
    count -= 1
    // Entries after it move up, unless that would put them before their home slot.
    var place = next(hole)
    while ids[place] != Self.none {
      if distance(from: home(ids[place]), to: place) >= distance(from: hole, to: place) {
        (ids[hole], numbers[hole]) = (ids[place], numbers[place])
        hole = place
      }
      place = next(place)
    }
    ids[hole] = Self.none
    return number
  }

  /// The most entries in this many slots: four fifths, so that no search is long.
  private static func room(_ places: Int) -> Int { places / 5 * 4 }

  private func home(_ bits: UInt64) -> Int { Int((Self.hash(bits) &* UInt64(ids.count)) >> 32) }

  private func next(_ place: Int) -> Int { place + 1 == ids.count ? 0 : place + 1 }

  private func distance(from start: Int, to place: Int) -> Int {
    place >= start ? place - start : place - start + ids.count
  }

  /// The slot of an id, or where it would go.
  private func find(_ bits: UInt64) -> Int {
    var place = home(bits)
    while ids[place] != bits, ids[place] != Self.none { place = next(place) }
    return place
  }

  private mutating func move(to places: Int) {
    let (oldIDs, oldNumbers) = (ids, numbers)
    ids = ContiguousArray(repeating: Self.none, count: places)
    numbers = ContiguousArray(repeating: 0, count: places)
    for (old, bits) in oldIDs.enumerated() where bits != Self.none {
      let place = find(bits)
      (ids[place], numbers[place]) = (bits, oldNumbers[old])
    }
  }
}
