import HaulCore

/// Values by id: an `IDTable` finds them with less work than a dictionary does, and they are
/// changed in place.
struct IDMap<Value> {
  private var places = IDTable()
  /// In no order that means anything.
  private(set) var ids: ContiguousArray<TransferID> = []
  private(set) var values: ContiguousArray<Value> = []

  /// Where its value is until one is removed.
  func place(of id: TransferID) -> Int? { places[id].map(Int.init) }

  subscript(place: Int) -> Value {
    _read { yield values[place] }
    _modify { yield &values[place] }
  }

  subscript(id: TransferID) -> Value? { place(of: id).map { values[$0] } }

  /// Gives an id its value, or another one.
  /// - Returns: its place.
  @discardableResult
  mutating func set(_ id: TransferID, to value: Value) -> Int {
    if let place = place(of: id) {
      values[place] = value
      return place
    }
    places.set(id, to: UInt32(ids.count))
    ids.append(id)
    values.append(value)
    return ids.count - 1
  }

  /// Takes an id out; the last one moves to its place.
  @discardableResult
  mutating func remove(_ id: TransferID) -> Value? {
    guard let place = places.remove(id).map(Int.init) else { return nil }
    let (lastID, last) = (ids.removeLast(), values.removeLast())
    guard place < ids.count else { return last }
    let value = values[place]
    (ids[place], values[place]) = (lastID, last)
    places.set(lastID, to: UInt32(place))
    return value
  }
}

extension IDMap: Sendable where Value: Sendable {}
