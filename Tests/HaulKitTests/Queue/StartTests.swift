import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Events between the decision to start and the run.
@Suite(.timeLimit(.minutes(10))) struct StartTests {
  @Test func `A transfer that starts during the shutdown is stopped at once`() async throws {
    let (clock, store) = (ManualClock(), StartStore())
    try await StepFixture.with(clock: clock, store: store) { fixture in
      async let added = fixture.manager.add(.step("spin", input: "1"))
      await store.gate.waitForArrivals(1)
      async let end: Void = fixture.manager.shutdown()
      // It has ordered all runs to stop, and waits for a commit.
      try await until { clock.wakeUps.contains(.seconds(4)) }
      store.gate.open()
      let step = try await added
      await end
      #expect(clock.now == Instant() && clock.sleeperCount == 0)
      #expect(fixture.gate.inside == 0)
      #expect(await step.summary?.state == .queued)
    }
  }

  @Test func `An unreadable record delays no other transfer, and is read again after a second`()
    async throws
  {
    let (clock, store) = (ManualClock(), StartStore())
    store.gate.open()
    try await StepFixture.with(clock: clock, store: store) { fixture in
      await fixture.manager.suspend()
      let added = try await fixture.manager.add((1...3).map { .step("pass", input: "\($0)") })
      store.unreadable = added[1].id
      await fixture.manager.unsuspend()
      for transfer in [added[0], added[2]] {
        try await until { await transfer.summary?.state == .completed }
      }
      try await until { await added[1].summary?.state == .queued && clock.sleeperCount > 0 }
      #expect(clock.now == Instant())
      store.unreadable = nil
      clock.advance(by: .seconds(2))
      #expect(try await added[1].result.state == .completed)
    }
  }

  @Test func `Every state change of a transfer that never ran has its address`() async throws {
    try await StepFixture.with { fixture in
      let events = fixture.manager.events()
      await fixture.manager.suspend()
      let url = try ResourceURL("http://host/file")
      let transfer = try await fixture.manager.add(
        DownloadRequest(url: url, to: .directory("/nowhere")))
      try await transfer.pause()
      try await transfer.resume()
      try await transfer.move(to: .first)
      try await transfer.cancel()
      let reported = await stateChanges(5, of: events)
      #expect(reported.map(\.url) == Array(repeating: url, count: 5), "\(reported)")
    }
  }
}

/// A list in memory whose commits may be slow and whose reads may fail.
private struct StartStore: Store {
  private let memory = MemoryStore()
  private let lost = NIOLockedValueBox<TransferID?>(nil)
  /// Where each change waits before it is stored.
  let gate = StepGate()

  /// The record that cannot be read.
  var unreadable: TransferID? {
    get { lost.withLockedValue { $0 } }
    nonmutating set { lost.withLockedValue { $0 = newValue } }
  }

  var isDurable: Bool { memory.isDurable }

  func open() async throws(TransferError) -> StoredQueue { try await memory.open() }

  func commit(_ change: StoreChange) async throws(TransferError) {
    await gate.pass("commit")
    try await memory.commit(change)
  }

  func records(_ ids: [TransferID]) async throws(TransferError) -> [TransferRecord] {
    if let unreadable, ids.contains(unreadable) { throw TransferError(.io, "a damaged row") }
    return try await memory.records(ids)
  }

  func records(where query: RecordQuery) async throws(TransferError) -> [TransferRecord] {
    try await memory.records(where: query)
  }

  func batch(_ key: String) async throws(TransferError) -> [TransferID]? {
    try await memory.batch(key)
  }

  func events(from number: Int, atMost: Int) async throws(TransferError) -> [StoredEvent]? {
    try await memory.events(from: number, atMost: atMost)
  }

  func close() async { await memory.close() }
}
