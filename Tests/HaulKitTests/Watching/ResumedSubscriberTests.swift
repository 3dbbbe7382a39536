import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Subscribers that resume, and subscribers that come late.
@Suite(.timeLimit(.minutes(10))) struct ResumedSubscriberTests {
  @Test(arguments: [0, 1, 7, 199, 200])
  func `A subscriber that resumes by number gets all later events once`(
    number: Int
  ) async throws {
    try await StepFixture.with(kept: 16) { fixture in
      try await fixture.run(100)
      let events = fixture.manager.events(after: number)
      async let reported = stateChanges(300 - number, of: events)
      try await fixture.run(50)
      #expect(await reported.map(\.number) == Array(number + 1...300))
    }
  }

  @Test func `A subscriber that resumes during many changes gets no gaps and no repeats`()
    async throws
  {
    try await StepFixture.with(kept: 64) { fixture in
      try await fixture.run(20)
      let last = 40 + 20 * 100
      async let work: Void = {
        for _ in 1...20 { try await fixture.run(50) }
      }()
      let reported = await withTaskGroup(of: (Int, [Int?]).self) { group in
        for number in stride(from: 0, through: 40, by: 4) {
          group.addTask {
            let events = fixture.manager.events(after: number)
            return (number, await stateChanges(last - number, of: events).map(\.number))
          }
        }
        return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
      }
      try await work
      for (number, numbers) in reported { #expect(numbers == Array(number + 1...last)) }
    }
  }

  @Test func `Event numbers continue after a restart, and earlier events can be read again`()
    async throws
  {
    let store = MemoryStore()
    try await StepFixture.with(store: store) { try await $0.run(10) }
    try await StepFixture.with(store: store) { fixture in
      let events = fixture.manager.events(after: 5)
      try await fixture.run(3)
      #expect(await stateChanges(21, of: events).map(\.number) == Array(6...26))
    }
  }

  @Test(arguments: [nil, 0, -1, 179, 201, Int.max])
  func `A number outside the log begins with a reset`(
    number: Int?
  ) async throws {
    try await StepFixture.with(store: MemoryStore(eventLogLimit: 20)) { fixture in
      let added = try await fixture.run(100)
      let events = fixture.manager.events(after: number)
      let first = try #require(await stateChanges(1, of: events).first)
      let snapshot = try #require(first.snapshot, "\(first)")
      #expect(snapshot.number == 200)
      #expect(snapshot.transfers.map(\.id) == added.map(\.id))
      #expect(snapshot.transfers.allSatisfy { $0.state == .completed })
      try await fixture.run(2)
      #expect(await stateChanges(4, of: events).map(\.number) == Array(201...204))
    }
  }

  @Test func `The oldest number in the log needs no reset`() async throws {
    try await StepFixture.with(store: MemoryStore(eventLogLimit: 20)) { fixture in
      try await fixture.run(100)
      let events = fixture.manager.events(after: 180)
      #expect(await stateChanges(20, of: events).map(\.number) == Array(181...200))
    }
  }

  @Test func `A copy built from snapshot and events always equals the list`() async throws {
    try await StepFixture.with(kept: 8, active: 3, store: MemoryStore(eventLogLimit: 64)) {
      fixture in
      let (manager, copy) = (fixture.manager, Copy())
      let reader = Task { await copy.follow(manager.events(after: nil)) }
      for round in 0..<30 {
        let added = try await manager.add((0..<8).map { .step("spin", input: "\($0)") })
        _ = try await manager.pause(.ids(added.prefix(3).map(\.id)))
        _ = try await manager.cancel(.ids(added[2...5].map(\.id)))
        if round.isMultiple(of: 2) { _ = try await manager.resume(.ids([added[0].id])) }
        _ = try await manager.remove(.ids(added[4...6].map(\.id)))
        _ = try await manager.pause(.all)
      }
      // A last change, for which the copy waits.
      let last = try await manager.add(.step("pass"))
      _ = try await last.result
      try await until { await copy[last.id] == .completed }
      let list = await manager.summaries()
      #expect(
        await copy.states
          == Dictionary(list.map { ($0.id, $0.state) }, uniquingKeysWith: { $1 }))
      reader.cancel()
      await reader.value
    }
  }

  @Test func `Every stream ends after the shutdown, once all events are delivered`() async throws {
    var kept: TransferManager?
    var all: TransferEvents?
    var transfer: Transfer?
    try await StepFixture.with(kept: 16) { fixture in
      kept = fixture.manager
      all = fixture.manager.events()
      transfer = try await fixture.run(50)[0]
    }
    let manager = try #require(kept)
    #expect(await stateChanges(.max, of: try #require(all)).map(\.number) == Array(1...100))
    // A subscriber that asks then gets the end.
    #expect(
      await stateChanges(.max, of: manager.events(after: 90)).map(\.number) == Array(91...100))
    #expect(await stateChanges(.max, of: manager.events(after: nil)).count == 1)
    #expect(await stateChanges(.max, of: manager.events()).isEmpty)
    var reported: [TransferEvent.Kind] = []
    for await event in try #require(transfer).events() { reported.append(event.kind) }
    #expect(reported.count == 2)
  }
}

/// A copy of the list, made from events.
private actor Copy {
  private(set) var states: [TransferID: TransferState] = [:]

  subscript(id: TransferID) -> TransferState? { states[id] }

  func follow(_ events: QueueEvents) async {
    for await event in events {
      switch event {
      case .reset(let snapshot):
        states = Dictionary(
          snapshot.transfers.map { ($0.id, $0.state.durable) }, uniquingKeysWith: { $1 })
      case .transfer(let event): take(event)
      }
    }
  }

  private func take(_ event: TransferEvent) {
    switch event.kind {
    case .added, .resumed: states[event.id] = .queued
    case .paused: states[event.id] = .paused
    case .finished(let result): states[event.id] = TransferState(rawValue: result.state.rawValue)
    case .removed: states[event.id] = nil
    default: break
    }
  }
}

extension TransferState {
  /// A copy does not have states without a numbered event.
  fileprivate var durable: TransferState {
    switch self {
    case .running, .stopping: .queued
    default: self
    }
  }
}
