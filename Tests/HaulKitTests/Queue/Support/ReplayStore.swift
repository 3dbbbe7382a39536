import HaulCore
import HaulKit
import NIOConcurrencyHelpers

/// A store in memory that records each change, so that it can show the state after a crash behind
/// any of them. It can also refuse changes.
struct ReplayStore: Store {
  private struct State {
    var changes: [StoreChange] = []
    var refusal: TransferError?
    /// Whether reads fail too.
    var isUnreadable = false
  }

  private let memory = MemoryStore()
  private let state = NIOLockedValueBox(State())

  var isDurable: Bool { memory.isDurable }

  /// The number of stored changes.
  var count: Int { state.withLockedValue { $0.changes.count } }

  /// The stored processes, in order.
  var programs: [StoredProcess] { state.withLockedValue { $0.changes.flatMap(\.programs) } }

  /// The contents if the process dies after so many changes, by default after all.
  func afterCrash(_ count: Int? = nil) async -> MemoryStore {
    let changes = state.withLockedValue { $0.changes }
    let copy = MemoryStore()
    for change in changes.prefix(count ?? changes.count) {
      // They were stored before, so this succeeds.
      try? await copy.commit(change)
    }
    return copy
  }

  /// Refuses every change from now on; nil accepts them again.
  func refuse(_ error: TransferError?, reading isUnreadable: Bool = false) {
    state.withLockedValue { ($0.refusal, $0.isUnreadable) = (error, isUnreadable) }
  }

  func open() async throws(TransferError) -> StoredQueue {
    let refusal = state.withLockedValue { $0.isUnreadable ? $0.refusal : nil }
    if let refusal { throw refusal }
    return try await memory.open()
  }

  func commit(_ change: StoreChange) async throws(TransferError) {
    if let refusal = state.withLockedValue({ $0.refusal }) { throw refusal }
    try await memory.commit(change)
    state.withLockedValue { $0.changes.append(change) }
  }

  func records(_ ids: [TransferID]) async throws(TransferError) -> [TransferRecord] {
    try await memory.records(ids)
  }

  func records(where query: RecordQuery) async throws(TransferError) -> [TransferRecord] {
    try await memory.records(where: query)
  }

  func batch(_ key: String) async throws(TransferError) -> [TransferID]? {
    try await memory.batch(key)
  }

  func events(
    from number: Int, atMost: Int
  ) async throws(TransferError) -> [StoredEvent]? {
    try await memory.events(from: number, atMost: atMost)
  }

  func close() async { await memory.close() }
}
