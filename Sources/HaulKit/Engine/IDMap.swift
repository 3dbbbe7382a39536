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
    let last = ids.removeLast()
    if place < ids.count {
      ids[place] = last
      // Of a buffer they are moved; of an array, copied.
      values.withUnsafeMutableBufferPointer { $0.swapAt(place, $0.count - 1) }
      places.set(last, to: UInt32(place))
    }
    return values.removeLast()
  }
}

extension IDMap: Sendable where Value: Sendable {}
