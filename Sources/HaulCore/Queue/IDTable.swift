/// A small number for each of many ids: one table without lists, twelve bytes a place. Ids are random, so that to multiply them is
/// all the hashing that they need.
package struct IDTable: Sendable {
  private static let none = UInt64.max

  /// By place; `none` where nothing is.
  private var ids: ContiguousArray<UInt64> = []
  private var numbers: ContiguousArray<UInt32> = []
  package private(set) var count = 0

  package init() {}

  package var isEmpty: Bool { count == 0 }

  /// Makes room for so many in all.
  package mutating func reserve(_ wanted: Int) {
    if wanted > Self.room(ids.count) { move(to: wanted / 4 * 5 + 8) }
  }

  package subscript(id: TransferID) -> UInt32? {
    guard !ids.isEmpty else { return nil }
    let place = find(id.bits)
    return ids[place] == Self.none ? nil : numbers[place]
  }

  /// Gives an id a number, or another one.
  /// - Returns: whether it had none.
  @discardableResult
  package mutating func set(_ id: TransferID, to number: UInt32) -> Bool {
    if count >= Self.room(ids.count) { move(to: ids.count / 2 * 3 + 16) }
    let place = find(id.bits)
    let isNew = ids[place] == Self.none
    if isNew {
      ids[place] = id.bits
      count += 1
    }
    numbers[place] = number
    return isNew
  }

  /// The number of an id; one that has none gets this one, and nil is returned.
  package mutating func number(of id: TransferID, orSet number: UInt32) -> UInt32? {
    if count >= Self.room(ids.count) { move(to: ids.count / 2 * 3 + 16) }
    let place = find(id.bits)
    guard ids[place] == Self.none else { return numbers[place] }
    (ids[place], numbers[place]) = (id.bits, number)
    count += 1
    return nil
  }

  /// Takes an id out.
  /// - Returns: the number that it had.
  @discardableResult
  package mutating func remove(_ id: TransferID) -> UInt32? {
    guard !ids.isEmpty else { return nil }
    var hole = find(id.bits)
    guard ids[hole] != Self.none else { return nil }
    let number = numbers[hole]
    count -= 1
    // What stands behind it moves up, unless that were before the place where it is looked for.
    var place = next(hole)
    while ids[place] != Self.none {
      if distance(from: home(ids[place]), to: place) >= distance(from: hole, to: place) {
        (ids[hole], numbers[hole]) = (ids[place], numbers[place])
        hole = place
      }
      place = next(place)
    }
    ids[hole] = Self.none
    // An emptied table of a million gives its memory back.
    if count == 0 { self = IDTable() }
    return number
  }

  /// How many a table of so many places holds: four fifths, so that no search is long.
  private static func room(_ places: Int) -> Int { places / 5 * 4 }

  private func home(_ bits: UInt64) -> Int {
    let hash = (bits &* 0x9E37_79B9_7F4A_7C15) >> 32
    return Int((hash &* UInt64(ids.count)) >> 32)
  }

  private func next(_ place: Int) -> Int { place + 1 == ids.count ? 0 : place + 1 }

  private func distance(from start: Int, to place: Int) -> Int {
    place >= start ? place - start : place - start + ids.count
  }

  /// Where an id is, or would be.
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
