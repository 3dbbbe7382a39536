/// What some inputs of a queue came to: what to store, as a whole, and what to do once it is stored.
package struct QueueDecision: Sendable {
  package enum Effect: Hashable, Sendable {
    case schedule(TransferID), unschedule(TransferID)
    /// It is to be tried again at this time, in seconds since 1970: `due` is told then.
    case postpone(TransferID, until: Double)
    /// Its priority or its place is another.
    case rearrange(TransferID)
    case prefer(TransferID), force(TransferID)
    case stop(TransferID, deletingBytes: Bool)
    case discard(TransferID)
    /// It waits for another one: one that has not ended, or one that was not completed.
    case waits(TransferID, on: TransferID, isBlocked: Bool)
    /// It came to an end.
    indirect case ended(TransferID, TransferResult)
    /// Every member of the group has ended.
    case groupEnded(String)
    /// It is not in the list any more.
    case removed(TransferID)
  }

  package internal(set) var effects: [Effect] = []
  package internal(set) var added: [TransferRecord] = []
  package internal(set) var events: [StoredEvent] = []
  package var batch: StoreChange.Batch?
  /// In the order in which they were first noted; nil for what is removed after all.
  private var updates: [StoreChange.Update?] = []
  /// Whose update stands where.
  private var places = IDTable()
  var removed: [TransferID] = []
  var satisfied: [TransferID] = []
  /// Whose dependencies have changed since they were looked at.
  var concerned: [TransferID] = []

  package init() {}

  /// What to store.
  package var change: StoreChange {
    var change = StoreChange()
    change.added = added
    change.updated = updates.compactMap { $0 }
    change.removed = removed
    change.satisfied = satisfied
    change.events = events
    change.batch = batch
    return change
  }

  /// Whose updates are to be stored.
  package var updated: some Sequence<TransferID> { updates.lazy.compactMap { $0?.id } }

  mutating func note(
    _ id: TransferID, _ standing: Standing, _ result: TransferResult?, keepsPlace: Bool
  ) {
    guard let place = places[id].map(Int.init), let former = updates[place] else {
      places.set(id, to: UInt32(updates.count))
      return updates.append(
        StoreChange.Update(id: id, standing: standing, result: result, keepsPlace: keepsPlace))
    }
    updates[place]?.standing = standing
    updates[place]?.result = result ?? former.result
    updates[place]?.keepsPlace = keepsPlace && former.keepsPlace
  }

  mutating func remove(_ id: TransferID) {
    if let place = places[id] { updates[Int(place)] = nil }
    removed.append(id)
    effects.append(.removed(id))
  }
}
