/// What some inputs of a queue came to: what to store, as a whole, and what to do once it is
/// stored.
package struct QueueDecision: Sendable {
  package enum Effect: Hashable, Sendable {
    case enqueue(TransferID)
    case unschedule(TransferID)
    /// It is to be tried again at this time, in seconds since 1970: `due` is told then.
    case postpone(TransferID, until: Double)
    /// Its priority or its place is another.
    case rearrange(TransferID)
    case prefer(TransferID)
    case force(TransferID)
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
  /// Where bytes lie from now on.
  package var locations: [StoredLocation] = []
  /// In the order in which they were first noted; nil for what is removed after all.
  private var updates = IDList<StoreChange.Update?>()
  var removed: [TransferID] = []
  var satisfied: [TransferID] = []
  /// What it changes of the queue that it was made from.
  var changes: QueueChanges?
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
    change.programs = programs
    change.locations = locations
    return change
  }

  /// Whose updates are to be stored.
  package var updated: some Sequence<TransferID> { updates.lazy.compactMap { $0?.id } }

  /// Those that have run, and end now without success.
  package var unsuccessful: [TransferID] {
    updates.compactMap { update in
      guard let update, update.storedState.hasRun, let result = update.result else { return nil }
      return result.state == .completed ? nil : update.id
    }
  }

  mutating func note(
    _ id: TransferID, _ storedState: StoredState, _ result: TransferResult?, keepsPlace: Bool
  ) {
    guard let place = updates.place(of: id) else {
      updates.append(
        id,
        StoreChange.Update(id: id, storedState: storedState, result: result, keepsPlace: keepsPlace)
      )
      return
    }
    updates[place]?.storedState = storedState
    if let result { updates[place]?.result = result }
    if !keepsPlace { updates[place]?.keepsPlace = false }
  }

  /// Of one whose standing is noted.
  mutating func set(_ request: TransferRequest, of id: TransferID) {
    if let place = updates.place(of: id) { updates[place]?.request = request }
  }

  /// These files, of earlier runs of members that end now without success, are still there. O(the
  /// decision).
  package mutating func keepFiles(_ paths: [TransferID: String]) {
    guard !paths.isEmpty else { return }
    for (id, path) in paths {
      guard let place = updates.place(of: id) else { continue }
      let result = updates[place]?.result?.keeping(path)
      updates[place]?.result = result
    }
    for (index, event) in events.enumerated() {
      guard let path = paths[event.id], case .finished(let result) = event.kind else { continue }
      events[index] = StoredEvent(
        number: event.number, id: event.id, kind: .finished(result.keeping(path)))
    }
    for (index, effect) in effects.enumerated() {
      guard case .ended(let id, let result) = effect, let path = paths[id] else { continue }
      effects[index] = .ended(id, result.keeping(path))
    }
  }

  mutating func remove(_ id: TransferID) {
    if let place = updates.place(of: id) { updates[place] = nil }
    removed.append(id)
    effects.append(.removed(id))
  }
}

extension TransferResult {
  /// The same, and the file that is still there as an earlier run left it: the next run is to
  /// replace it.
  fileprivate func keeping(_ older: String) -> TransferResult {
    guard path == nil, state != .completed else { return self }
    return TransferResult(
      state: state, path: older, bytes: bytes, fetched: fetched, reused: reused,
      duration: duration, checksums: checksums, verified: verified, error: error, metrics: metrics)
  }
}
