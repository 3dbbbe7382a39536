import OrderedCollections

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
    case ended(TransferID, TransferResult)
    /// Every member of the group has ended.
    case groupEnded(String)
    /// It is not in the list any more.
    case removed(TransferID)
  }

  package internal(set) var effects: [Effect] = []
  package internal(set) var added: [TransferRecord] = []
  package internal(set) var events: [StoredEvent] = []
  package var batch: StoreChange.Batch?
  /// Processes that are about to run.
  package var programs: [StoredProgram] = []
  var updates: OrderedDictionary<TransferID, StoreChange.Update> = [:]
  var removed: [TransferID] = []
  var satisfied: [TransferID] = []
  /// Whose dependencies have changed since they were looked at.
  var concerned: [TransferID] = []

  package init() {}

  /// What to store.
  package var change: StoreChange {
    var change = StoreChange()
    change.added = added
    change.updated = Array(updates.values)
    change.removed = removed
    change.satisfied = satisfied
    change.events = events
    change.batch = batch
    change.programs = programs
    return change
  }

  mutating func note(
    _ id: TransferID, _ standing: Standing, _ result: TransferResult?, keepsPlace: Bool
  ) {
    let former = updates[id]
    updates[id] = StoreChange.Update(
      id: id, standing: standing, result: result ?? former?.result,
      keepsPlace: keepsPlace && former?.keepsPlace ?? true)
  }

  mutating func remove(_ id: TransferID) {
    updates[id] = nil
    removed.append(id)
    effects.append(.removed(id))
  }
}
