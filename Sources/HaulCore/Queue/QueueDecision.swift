/// The outcome of some inputs of a queue: what to store, in one transaction, and what to do once it
/// is stored.
package struct QueueDecision: Sendable {
  package enum Effect: Hashable, Sendable {
    case enqueue(TransferID)
    case unschedule(TransferID)
    /// It is retried when `waitEnded` is called at this time, in seconds since 1970.
    case postpone(TransferID, until: Double)
    /// Its priority or its rank has changed.
    case rearrange(TransferID)
    case requestStart(TransferID, StartRequest)
    /// The rate limit of its run changes, in bytes per second; nil or 0 for none.
    case limitRate(TransferID, Int64?)
    /// It repeats in this way from now on, or no longer.
    case changeRepetition(TransferID, Repetition?)
    case stop(TransferID, deletingBytes: Bool)
    case discard(TransferID)
    /// It waits for a dependency that has not ended, or was not completed.
    case waits(TransferID, on: TransferID, isBlocked: Bool)
    /// It has ended.
    case ended(TransferID, TransferResult)
    /// Every member of the group has ended.
    case groupEnded(String)
    /// It is no longer in the list.
    case removed(TransferID)
  }

  package internal(set) var effects: [Effect] = []
  package private(set) var added: [TransferRecord] = []
  /// Their places in `added`.
  private var addedIndices = IDIndex()
  package internal(set) var events: [StoredEvent] = []
  package var batch: StoreChange.Batch?
  /// Processes that are about to start.
  package var programs: [StoredProcess] = []
  /// The new locations of bytes.
  package var locations: [StoredLocation] = []
  package var pendingAborts: [PendingAbort] = []
  package var endedAborts: [TransferID] = []
  /// In order of the first change; nil for members that this decision removes.
  private var updates = OrderedIDDictionary<StoreChange.Update?>()
  var removed: [TransferID] = []
  var satisfiedDependencies: [TransferID] = []
  /// Nil if nothing could start.
  package internal(set) var starts: QueueStarts?
  /// Its changes of the queue on which it was made.
  var changes: QueueChanges?
  /// Members whose dependencies have changed since the last check.
  var toRecheck: [TransferID] = []

  package init() {}

  /// What to store.
  package var change: StoreChange {
    var change = StoreChange()
    change.added = added
    change.updated = updates.compactMap { $0 }
    change.removed = removed
    change.satisfiedDependencies = satisfiedDependencies
    change.events = events
    change.batch = batch
    change.programs = programs
    change.locations = locations
    (change.pendingAborts, change.endedAborts) = (pendingAborts, endedAborts)
    return change
  }

  /// The record of a member that this decision adds.
  package func added(_ id: TransferID) -> TransferRecord? {
    addedIndices[id].map { added[Int($0)] }
  }

  /// Makes room for this many additions, once: a decision may hold thousands of small calls.
  mutating func reserve(_ count: Int) {
    guard added.isEmpty, count > 1 else { return }
    added.reserveCapacity(count)
    addedIndices.reserve(count)
  }

  mutating func add(_ record: TransferRecord) {
    addedIndices.set(record.id, to: UInt32(added.count))
    added.append(record)
  }

  /// The members whose updates are stored.
  package var updated: some Sequence<TransferID> { updates.lazy.compactMap { $0?.id } }

  /// Members that have run, and now end without success.
  package var unsuccessful: [TransferID] {
    updates.compactMap { update in
      guard let update, update.storedState.hasRun, let result = update.result else { return nil }
      return result.state == .completed ? nil : update.id
    }
  }

  mutating func note(
    _ id: TransferID, _ storedState: StoredState, _ result: TransferResult?,
    keepsRankAndPriority: Bool
  ) {
    // One that is stored as new is written once.
    if let index = addedIndices[id].map(Int.init) {
      added[index].storedState = storedState
      if let result { added[index].result = result }
      return
    }
    guard let index = updates.index(of: id) else {
      updates.append(
        id,
        StoreChange.Update(
          id: id, storedState: storedState, result: result,
          keepsRankAndPriority: keepsRankAndPriority)
      )
      return
    }
    updates[index]?.storedState = storedState
    if let result { updates[index]?.result = result }
    if !keepsRankAndPriority { updates[index]?.keepsRankAndPriority = false }
  }

  /// For a member whose state is noted.
  mutating func set(_ request: TransferRequest, of id: TransferID) {
    if let index = updates.index(of: id) { updates[index]?.request = request }
  }

  /// Notes that these files of earlier runs still exist, for members that now end without success.
  /// O(decision).
  package mutating func keepFiles(_ paths: [TransferID: String]) {
    guard !paths.isEmpty else { return }
    for (id, path) in paths {
      guard let index = updates.index(of: id) else { continue }
      let result = updates[index]?.result?.keeping(path)
      updates[index]?.result = result
    }
    for (index, event) in events.enumerated() {
      guard let path = paths[event.id], case .finished(let result) = event.kind else { continue }
      events[index] = StoredEvent(
        number: event.number, id: event.id, kind: .finished(result.keeping(path)),
        groupEnd: event.groupEnd)
    }
    for (index, effect) in effects.enumerated() {
      guard case .ended(let id, let result) = effect, let path = paths[id] else { continue }
      effects[index] = .ended(id, result.keeping(path))
    }
  }

  mutating func remove(_ id: TransferID) {
    if let index = updates.index(of: id) { updates[index] = nil }
    removed.append(id)
    effects.append(.removed(id))
  }
}

extension TransferResult {
  /// The same result with the file of an earlier run, which exists until the next run replaces it.
  fileprivate func keeping(_ older: String) -> TransferResult {
    guard path == nil, state != .completed else { return self }
    return TransferResult(
      state: state, path: older, bytes: bytes, fetched: fetched, reused: reused,
      duration: duration, checksums: checksums, verified: verified, error: error, metrics: metrics,
      response: response)
  }
}
