import HaulCore
import HaulKit
import Testing

/// Subscribers that do not read.
@Suite(.timeLimit(.minutes(10))) struct SlowSubscriberTests {
  @Test func `A subscriber that never reads delays nothing, and few events are kept for it`()
    async throws
  {
    try await StepFixture.with(kept: 32) { fixture in
      let idle = [fixture.manager.events(), fixture.manager.events()]
      let resumed = fixture.manager.events(after: nil)
      for _ in 1...20 {
        try await fixture.run(50)
        #expect(fixture.manager.coordinator.bufferedEvents <= 32)
      }
      #expect(await fixture.manager.counts == [.completed: 1000])
      withExtendedLifetime((idle, resumed)) {}
    }
  }

  @Test func `Without a limit, all unread events are kept`() async throws {
    try await StepFixture.with(kept: .max) { fixture in
      let idle = fixture.manager.events()
      try await fixture.run(500)
      #expect(fixture.manager.coordinator.bufferedEvents >= 1000)
      withExtendedLifetime(idle) {}
    }
  }

  @Test func `Events without a remaining reader are not kept`() async throws {
    try await StepFixture.with(kept: 1 << 20) { fixture in
      var idle: TransferEvents? = fixture.manager.events()
      try await fixture.run(500)
      #expect(fixture.manager.coordinator.bufferedEvents >= 1000)
      withExtendedLifetime(idle) {}
      idle = nil
      try await fixture.run(1)
      #expect(fixture.manager.coordinator.bufferedEvents < 300)
    }
  }

  @Test func `A subscriber far behind gets every state change from the store`() async throws {
    try await StepFixture.with(kept: 16) { fixture in
      let slow = fixture.manager.events()
      let added = try await fixture.run(700)
      let reported = await stateChanges(1400, of: slow)
      #expect(reported.compactMap(\.number) == Array(1...1400))
      for transfer in added {
        let kinds = reported.filter { $0.id == transfer.id }.map(\.kind)
        #expect(kinds.count == 2 && kinds.first == .added(target: nil))
      }
      // Then it continues with new events.
      try await fixture.run(1)
      #expect(await stateChanges(2, of: slow).compactMap(\.number) == [1401, 1402])
    }
  }

  @Test func `A subscriber that catches up misses no events that happen meanwhile`() async throws {
    try await StepFixture.with(kept: 8) { fixture in
      let slow = fixture.manager.events()
      try await fixture.run(300)
      async let reported = stateChanges(3000, of: slow)
      for _ in 1...12 { try await fixture.run(100) }
      #expect(await reported.compactMap(\.number) == Array(1...3000))
    }
  }

  @Test func `These tests detect a store that loses an event`() async throws {
    let store = LossyStore(lost: 40)
    try await StepFixture.with(kept: 8, store: store) { fixture in
      let slow = fixture.manager.events()
      try await fixture.run(100)
      let reported = await stateChanges(199, of: slow).compactMap(\.number)
      #expect(reported == Array(1...39) + Array(41...200))
    }
  }

  @Test func `A subscriber behind the log gets snapshots of all transfers, then new events`()
    async throws
  {
    try await StepFixture.with(kept: 8, store: MemoryStore(eventLogLimit: 20)) { fixture in
      let slow = fixture.manager.events()
      let added = try await fixture.run(300)
      var standing: [TransferEvent] = []
      for await event in slow {
        standing.append(event)
        if standing.count == 300 { break }
      }
      #expect(standing.map(\.id) == added.map(\.id))
      for event in standing {
        guard case .snapshot(let snapshot) = event.kind else {
          Issue.record("\(event)")
          continue
        }
        #expect(snapshot.state == .completed && snapshot.result?.state == .completed)
      }
      try await fixture.run(1)
      #expect(await stateChanges(2, of: slow).compactMap(\.number) == [601, 602])
    }
  }

  @Test func `Fast and slow subscribers get the same events`() async throws {
    try await StepFixture.with(kept: 64) { fixture in
      let (prompt, slow) = (fixture.manager.events(), fixture.manager.events())
      async let first = stateChanges(400, of: prompt)
      try await fixture.run(200)
      let late = await stateChanges(400, of: slow)
      #expect(await first.map(\.number) == late.map(\.number))
      #expect(await first.map(\.id) == late.map(\.id))
    }
  }
}

/// A store that loses one event.
private struct LossyStore: Store {
  let memory = MemoryStore()
  let isDurable = false
  let lost: Int

  func open() async throws(TransferError) -> StoredQueue { try await memory.open() }
  func commit(_ change: StoreChange) async throws(TransferError) {
    try await memory.commit(change)
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
  func events(from number: Int, atMost: Int) async throws(TransferError) -> [StoredEvent]? {
    try await memory.events(from: number, atMost: atMost)?.filter { $0.number != lost }
  }
  func close() async {}
}
