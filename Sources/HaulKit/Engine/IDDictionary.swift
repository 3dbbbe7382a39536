import HaulCore

/// Values by id, changed in place. An `IDIndex` finds them faster than a dictionary.
struct IDDictionary<Value> {
  private var indices = IDIndex()
  /// In no particular order.
  private(set) var ids: ContiguousArray<TransferID> = []
  private(set) var values: ContiguousArray<Value> = []

  /// The index of its value, valid until the next removal.
  func index(of id: TransferID) -> Int? { indices[id].map(Int.init) }

  subscript(index: Int) -> Value {
    _read { yield values[index] }
    _modify { yield &values[index] }
  }

  subscript(id: TransferID) -> Value? { index(of: id).map { values[$0] } }

  /// Sets the value of an id.
  /// - Returns: its index.
  @discardableResult
  mutating func set(_ id: TransferID, to value: Value) -> Int {
    if let index = index(of: id) {
      values[index] = value
      return index
    }
    indices.set(id, to: UInt32(ids.count))
    ids.append(id)
    values.append(value)
    return ids.count - 1
  }

  /// Removes an id; the last value moves to its index.
  @discardableResult
  mutating func remove(_ id: TransferID) -> Value? {
    guard let index = indices.remove(id).map(Int.init) else { return nil }
    let last = ids.removeLast()
    if index < ids.count {
      ids[index] = last
      // The buffer swaps by moving; the array would copy.
      values.withUnsafeMutableBufferPointer { $0.swapAt(index, $0.count - 1) }
      indices.set(last, to: UInt32(index))
    }
    return values.removeLast()
  }
}

extension IDDictionary: Sendable where Value: Sendable {}
