import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers

/// The store of one simulated process, over one that outlives it. It takes time, refuses changes,
/// and the process may die during one.
final class SimulatedStore: Store {
  struct Behaviours: Sendable {
    /// One of so many changes is refused; nil for none.
    var refusesOneIn: Int?
    /// After so many more changes one is refused, or several in succession.
    var changesUntilRefusal: Int?
    var refusalsInARow = 1
    /// After so many more changes the process dies, with the last of them stored or not.
    var changesUntilCrash: Int?
    var isSlow = false
    /// The duration of a change.
    var timeOfChange: Duration?
  }

  /// The numbers of calls.
  struct Calls: Sendable {
    var opens = 0
    /// Including refused ones.
    var commits = 0
  }

  private struct State {
    var behaviours = Behaviours()
    var isDead = false
    var calls = 0
    var counts = Calls()
  }

  private let memory: MemoryStore
  private let clock: ManualClock
  private let ledger: SharedLedger
  private let random: SeededRandom
  private let state = NIOLockedValueBox(State())

  init(over memory: MemoryStore, clock: ManualClock, ledger: SharedLedger, random: SeededRandom) {
    self.memory = memory
    self.clock = clock
    self.ledger = ledger
    self.random = random
  }

  var behaviours: Behaviours {
    get { state.withLockedValue { $0.behaviours } }
    set { state.withLockedValue { $0.behaviours = newValue } }
  }

  /// Its contents outlive the simulated process.
  var isDurable: Bool { true }
  /// Whether a call has come that was not answered yet.
  var isBusy: Bool { state.withLockedValue { $0.calls > 0 } }
  var counts: Calls { state.withLockedValue { $0.counts } }
  var isDead: Bool { state.withLockedValue { $0.isDead } }
  func die() { state.withLockedValue { $0.isDead = true } }

  func open() async throws(TransferError) -> StoredQueue {
    state.withLockedValue { $0.counts.opens += 1 }
    try await called()
    return try await memory.open()
  }

  func commit(_ change: StoreChange) async throws(TransferError) {
    state.withLockedValue { $0.counts.commits += 1 }
    if let time = behaviours.timeOfChange { try? await clock.wait(time) }
    try await called()
    if refusesNow() {
      ledger.withLockedValue { ledger in
        ledger.note("the store refuses")
        // A member whose start could not be stored waits again.
        for id in ledger.members.keys { ledger.members[id]?.waited = false }
        ledger.hasRefused = true
        ledger.troubledUntil = clock.now + .milliseconds(1500)
      }
      throw TransferError(.io, "the store refuses")
    }
    if diesNow() {
      if random.oneIn(2) { try await keep(change) }
      die()
      throw dead
    }
    try await keep(change)
  }

  private func keep(_ change: StoreChange) async throws(TransferError) {
    try await memory.commit(change)
    ledger.withLockedValue { $0.stored(change) }
  }

  private func refusesNow() -> Bool {
    let isCounted = state.withLockedValue { state in
      guard let left = state.behaviours.changesUntilRefusal else { return false }
      state.behaviours.changesUntilRefusal = left > 0 ? left - 1 : nil
      if left == 0, state.behaviours.refusalsInARow > 1 {
        state.behaviours.refusalsInARow -= 1
        state.behaviours.changesUntilRefusal = 0
      }
      return left == 0
    }
    return isCounted || behaviours.refusesOneIn.map { random.oneIn($0) } ?? false
  }

  private func diesNow() -> Bool {
    state.withLockedValue { state in
      guard let left = state.behaviours.changesUntilCrash else { return false }
      state.behaviours.changesUntilCrash = left - 1
      return left <= 1
    }
  }

  func records(_ ids: [TransferID]) async throws(TransferError) -> [TransferRecord] {
    try await called()
    return try await memory.records(ids)
  }

  func records(where query: RecordQuery) async throws(TransferError) -> [TransferRecord] {
    try await called()
    return try await memory.records(where: query)
  }

  func batch(_ key: String) async throws(TransferError) -> [TransferID]? {
    try await called()
    return try await memory.batch(key)
  }

  func events(
    from number: Int, atMost: Int
  ) async throws(TransferError) -> [StoredEvent]? {
    try await called()
    return try await memory.events(from: number, atMost: atMost)
  }

  func close() async {}

  private var dead: TransferError { TransferError(.io, "the process is dead") }

  /// Takes some time, during which others may come.
  private func called() async throws(TransferError) {
    if isDead { throw dead }
    state.withLockedValue { $0.calls += 1 }
    defer { state.withLockedValue { $0.calls -= 1 } }
    for _ in 0..<random.below(3) { await Task.yield() }
    if behaviours.isSlow, random.oneIn(3) {
      // A disk finishes even if the caller is cancelled.
      try? await clock.wait(.milliseconds(1 + random.below(40)))
    }
    if isDead { throw dead }
  }
}
