import HaulCore

/// Values by id, changed in place. An `IDTable` finds them faster than a dictionary.
struct IDMap<Value> {
  private var places = IDTable()
  /// In no particular order.
  private(set) var ids: ContiguousArray<TransferID> = []
  private(set) var values: ContiguousArray<Value> = []

  /// The index of its value, valid until the next removal.
  func place(of id: TransferID) -> Int? { places[id].map(Int.init) }

  subscript(place: Int) -> Value {
    _read { yield values[place] }
    _modify { yield &values[place] }
  }

  subscript(id: TransferID) -> Value? { place(of: id).map { values[$0] } }

  /// Sets the value of an id.
  /// - Returns: its index.
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

  /// Removes an id; the last value moves to its index.
  @discardableResult
  mutating func remove(_ id: TransferID) -> Value? {
    guard let place = places.remove(id).map(Int.init) else { return nil }
    let last = ids.removeLast()
    if place < ids.count {
      ids[place] = last
      // In a buffer they are moved; in an array they would be copied.
      values.withUnsafeMutableBufferPointer { $0.swapAt(place, $0.count - 1) }
      places.set(last, to: UInt32(place))
    }
    return values.removeLast()
  }
}

extension IDMap: Sendable where Value: Sendable {}
