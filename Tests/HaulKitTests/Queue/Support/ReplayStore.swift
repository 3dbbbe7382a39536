import HaulCore
import HaulKit
import NIOConcurrencyHelpers

/// A store in memory that knows what was stored in it, change by change: what a program that died
/// after any of them left behind; it can refuse changes too.
struct ReplayStore: Store {
  private struct State {
    var changes: [StoreChange] = []
    var refusal: TransferError?
    /// Whether what is there cannot be read either.
    var isUnreadable = false
  }

  private let memory = MemoryStore()
  private let state = NIOLockedValueBox(State())

  var isDurable: Bool { memory.isDurable }

  /// How many changes were stored.
  var count: Int { state.withLockedValue { $0.changes.count } }

  /// The processes that were stored, in order.
  var programs: [StoredProgram] { state.withLockedValue { $0.changes.flatMap(\.programs) } }

  /// What is there when the program dies after so many changes, by default after all.
  func afterCrash(_ count: Int? = nil) async -> MemoryStore {
    let changes = state.withLockedValue { $0.changes }
    let copy = MemoryStore()
    for change in changes.prefix(count ?? changes.count) {
      // They were stored once.
      try? await copy.commit(change)
    }
    return copy
  }

  /// Refuses every change from now on; nil takes them again.
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
