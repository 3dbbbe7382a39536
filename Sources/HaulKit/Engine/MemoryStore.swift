import DequeModule
package import HaulCore
import NIOConcurrencyHelpers
import OrderedCollections

/// A store in memory, which ends with the process.
package struct MemoryStore: Store {
  fileprivate struct State {
    var records = IDDictionary<TransferRecord>()
    /// The records by rank; nil after one was added, removed or moved.
    var order: [(rank: Int64, id: TransferID)]?
    /// The owner of each identifier.
    var identifiers: [String: TransferID] = [:]
    var batches: OrderedDictionary<String, [TransferID]> = [:]
    var programs: [TransferID: ProcessIdentity] = [:]
    var locations: [TransferID: FileLocation] = [:]
    var aborts: [TransferID: PendingAbort] = [:]
    var events: Deque<StoredEvent> = []
    var lastEvent = 0
  }

  private let eventLogLimit: Int
  private let keyLimit: Int
  private let state = NIOLockedValueBox(State())

  /// - Parameters:
  ///   - eventLogLimit: how many state changes the log keeps.
  ///   - keyLimit: how many keys of calls it remembers.
  package init(eventLogLimit: Int = 10_000, keyLimit: Int = 10_000) {
    (self.eventLogLimit, self.keyLimit) = (eventLogLimit, keyLimit)
  }

  package var isDurable: Bool { false }

  package func open() async throws(TransferError) -> StoredQueue {
    state.withLockedValue { state in
      var queue = StoredQueue(
        members: state.records.values.map(QueuedMember.init)
          .sorted { ($0.storedState.rank, $0.id) < ($1.storedState.rank, $1.id) },
        lastEvent: state.lastEvent, programs: state.programsUnderWay)
      queue.locations = state.locations
      queue.pendingAborts = state.aborts.values.sorted { $0.id < $1.id }
      return queue
    }
  }

  package func commit(_ change: StoreChange) async throws(TransferError) {
    let isDone = state.withLockedValue { state in
      guard state.permits(change) else { return false }
      for index in change.added.indices {
        var record = change.added[index]
        record.added = change.time
        state.put(record)
      }
      for update in change.updated { state.apply(update, at: change.time) }
      for id in change.removed {
        state.remove(id)
        (state.programs[id], state.locations[id]) = (nil, nil)
      }
      for program in change.programs { state.put(program) }
      for stored in change.locations where state.records.index(of: stored.id) != nil {
        state.locations[stored.id] = stored.location
      }
      for abort in change.pendingAborts { state.aborts[abort.id] = abort }
      for id in change.endedAborts { state.aborts[id] = nil }
      if !change.satisfiedDependencies.isEmpty {
        state.dropDependencies(on: Set(change.satisfiedDependencies))
      }
      if let batch = change.batch {
        state.batches[batch.key] = batch.ids
        if state.batches.count > keyLimit { state.batches.removeFirst() }
      }
      state.events.append(contentsOf: change.events)
      state.lastEvent = change.events.last?.number ?? state.lastEvent
      while state.events.count > eventLogLimit { state.events.removeFirst() }
      return true
    }
    guard isDone else { throw TransferError(.io, "an id or an identifier was added twice") }
  }

  package func records(_ ids: [TransferID]) async throws(TransferError) -> [TransferRecord] {
    state.withLockedValue { state in ids.compactMap { state.records[$0] } }
  }

  package func records(where query: RecordQuery) async throws(TransferError) -> [TransferRecord] {
    state.withLockedValue { state in
      let order = state.inOrder()
      var found: [TransferRecord] = []
      var index = query.afterRank.map { order.firstIndex(after: $0) } ?? 0
      while found.count < query.atMost, index < order.count {
        if let record = state.records[order[index].id], query.takes(record) { found.append(record) }
        index += 1
      }
      return found
    }
  }

  package func batch(_ key: String) async throws(TransferError) -> [TransferID]? {
    state.withLockedValue { $0.batches[key] }
  }

  package func events(
    from number: Int, atMost: Int
  ) async throws(TransferError) -> [StoredEvent]? {
    state.withLockedValue { state in
      let first = state.events.first?.number ?? state.lastEvent + 1
      guard number >= first else { return nil }
      return Array(state.events.dropFirst(number - first).prefix(atMost))
    }
  }

  package func close() async {}
}

extension MemoryStore.State {
  /// Whether every id is new and no identifier would have two owners at any time.
  fileprivate func permits(_ change: StoreChange) -> Bool {
    var new = IDIndex()
    new.reserve(change.added.count)
    var names: [TransferID: String?] = [:]
    var owners = IdentifierOwners(identifiers)
    for index in change.added.indices {
      let id = change.added[index].id
      guard records.index(of: id) == nil, new.set(id, to: UInt32(index)),
        owners.take(change.added[index].request.identifier, for: id)
      else { return false }
    }
    for update in change.updated {
      guard let name = update.request.map(\.identifier),
        let old = names[update.id] ?? new[update.id].map({
          change.added[Int($0)].request.identifier
        })
          ?? records[update.id].map(\.request.identifier), name != old
      else { continue }
      guard owners.take(name, for: update.id) else { return false }
      owners.free(old)
      names[update.id] = .some(name)
    }
    return true
  }

  fileprivate mutating func inOrder() -> [(rank: Int64, id: TransferID)] {
    if let order { return order }
    let sorted = records.values.map { (rank: $0.storedState.rank, id: $0.id) }.sorted { $0 < $1 }
    order = sorted
    return sorted
  }

  fileprivate mutating func put(_ record: TransferRecord) {
    order = nil
    records.set(record.id, to: record)
    if let name = record.request.identifier { identifiers[name] = record.id }
  }

  /// In place, because a record is large.
  fileprivate mutating func apply(_ update: StoreChange.Update, at time: Double?) {
    if let request = update.request {
      guard var record = remove(update.id) else { return }
      record.request = request
      put(record)
    }
    guard let index = records.index(of: update.id) else { return }
    if records[index].storedState.rank != update.storedState.rank { order = nil }
    records[index].storedState = update.storedState
    if let result = update.result {
      (records[index].result, records[index].ended) = (result, time)
    }
  }

  fileprivate mutating func put(_ program: StoredProcess) {
    if records.index(of: program.id) != nil { programs[program.id] = program.process }
  }

  fileprivate var programsUnderWay: [StoredProcess] {
    programs.filter { records[$0.key]?.storedState.wasRunning == true }
      .map { StoredProcess(id: $0.key, process: $0.value) }.sorted { $0.id < $1.id }
  }

  fileprivate mutating func dropDependencies(on ids: Set<TransferID>) {
    for index in records.ids.indices {
      records[index].request.dependencies.removeAll {
        if case .transfer(let other) = $0 { ids.contains(other) } else { false }
      }
    }
  }

  @discardableResult
  fileprivate mutating func remove(_ id: TransferID) -> TransferRecord? {
    guard let record = records.remove(id) else { return nil }
    order = nil
    if let name = record.request.identifier, identifiers[name] == id { identifiers[name] = nil }
    return record
  }
}

/// The owner of each identifier while a change is checked, before anything is changed.
private struct IdentifierOwners {
  private let stored: [String: TransferID]
  private var changed: [String: TransferID?] = [:]

  init(_ stored: [String: TransferID]) { self.stored = stored }

  /// Whether it was free.
  mutating func take(_ name: String?, for id: TransferID) -> Bool {
    guard let name else { return true }
    guard (changed[name] ?? stored[name]) == nil else { return false }
    changed[name] = .some(id)
    return true
  }

  mutating func free(_ name: String?) {
    if let name { changed[name] = .some(nil) }
  }
}

extension [(rank: Int64, id: TransferID)] {
  /// The index of the first record with a higher rank; O(log n).
  fileprivate func firstIndex(after rank: Int64) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if self[middle].rank > rank { high = middle } else { low = middle + 1 }
    }
    return low
  }
}

extension RecordQuery {
  /// Whether a record after the query's rank matches the query.
  fileprivate func takes(_ record: TransferRecord) -> Bool {
    statuses?.contains(record.storedState.status) ?? true
      && (group == nil || record.request.group == group)
  }
}
