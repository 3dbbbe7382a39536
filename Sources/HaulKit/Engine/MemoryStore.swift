import DequeModule
package import HaulCore
import NIOConcurrencyHelpers

/// A store that ends with the process.
package struct MemoryStore: Store {
  fileprivate struct State {
    var records: [TransferID: TransferRecord] = [:]
    var batches: [String: [TransferID]] = [:]
    var events: Deque<StoredEvent> = []
    var lastEvent = 0
  }

  private static let keptEvents = 10_000
  private let state = NIOLockedValueBox(State())

  package init() {}

  package func open() async throws(TransferError) -> StoredQueue {
    state.withLockedValue { state in
      StoredQueue(
        members: state.records.values.map(QueuedMember.init)
          .sorted { ($0.standing.rank, $0.id) < ($1.standing.rank, $1.id) },
        lastEvent: state.lastEvent)
    }
  }

  package func commit(_ change: StoreChange) async throws(TransferError) {
    let isDone = state.withLockedValue { state in
      guard !change.added.contains(where: { state.records[$0.id] != nil }) else { return false }
      for record in change.added { state.records[record.id] = record }
      for update in change.updated { state.apply(update) }
      for id in change.removed { state.records[id] = nil }
      if let batch = change.batch { state.batches[batch.key] = batch.ids }
      state.events.append(contentsOf: change.events)
      state.lastEvent = change.events.last?.number ?? state.lastEvent
      while state.events.count > Self.keptEvents { state.events.removeFirst() }
      return true
    }
    guard isDone else { throw TransferError(.io, "an id was added twice") }
  }

  package func records(_ ids: [TransferID]) async throws(TransferError) -> [TransferRecord] {
    state.withLockedValue { state in ids.compactMap { state.records[$0] } }
  }

  package func records(where query: RecordQuery) async throws(TransferError) -> [TransferRecord] {
    let found = state.withLockedValue { state in
      state.records.values.filter { query.takes($0) }
    }
    return Array(
      found.sorted { ($0.standing.rank, $0.id) < ($1.standing.rank, $1.id) }
        .prefix(query.atMost))
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
  fileprivate mutating func apply(_ update: StoreChange.Update) {
    guard var record = records.removeValue(forKey: update.id) else { return }
    record.standing = update.standing
    record.result = update.result ?? record.result
    record.request = update.request ?? record.request
    records[update.id] = record
  }
}

extension RecordQuery {
  /// Whether it asks for this one.
  fileprivate func takes(_ record: TransferRecord) -> Bool {
    statuses?.contains(record.standing.status) ?? true
      && (group == nil || record.request.group == group)
      && (afterRank.map { record.standing.rank > $0 } ?? true)
  }
}
