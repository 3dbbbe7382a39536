import Dispatch
import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Ends that are reported at once, once, and on the actor that asked for them.
@Suite(.timeLimit(.minutes(10))) struct CompletionTests {
  private final class Ends: Sendable {
    private let box = NIOLockedValueBox<[TransferResult.State]>([])

    var states: [TransferResult.State] { box.withLockedValue { $0 } }
    func add(_ result: TransferResult) { box.withLockedValue { $0.append(result.state) } }
  }

  @Test func `A completion handler runs once for each member, with its end`() async throws {
    try await QueueFixture.with([.plain("a"), .broken("b"), .held("c"), .plain("d")]) { queue in
      let added = try await queue.add("a", "b", "c", "d")
      let ends = added.map { _ in Ends() }
      let tasks = zip(added, ends).map { transfer, end in transfer.onEnd { end.add($0) } }
      try await queue.hold(added[2])
      await tasks[0].value
      await tasks[1].value
      // Not before its end.
      #expect(ends.map(\.states) == [[.completed], [.failed], [], []])
      try await added[3].cancel()
      await tasks[3].value
      try await added[2].cancel()
      await tasks[2].value
      #expect(ends.map(\.states) == [[.completed], [.failed], [.cancelled], [.cancelled]])
      // After a retry, its completion is not called again.
      queue.server.setFaults("/b", [])
      try await added[1].retry()
      _ = try await added[1].result
      #expect(ends[1].states == [.failed])
      // A late one runs at once.
      let late = Ends()
      for transfer in added { await transfer.onEnd { late.add($0) }.value }
      #expect(late.states == [.completed, .completed, .cancelled, .cancelled])
    }
  }

  @MainActor
  @Test func `A completion handler runs off the main actor, unless it is isolated to it`()
    async throws
  {
    try await StepFixture.with { fixture in
      let step = try await fixture.manager.add(.step("gate", input: "1"))
      await fixture.gate.waitForArrivals(1)
      let came = DispatchSemaphore(value: 0)
      let off = step.onEnd { _ in came.signal() }
      var isOnMain = false
      let on = step.onEnd { @MainActor _ in
        MainActor.assertIsolated()
        isOnMain = true
      }
      fixture.gate.open()
      // The main actor does nothing else meanwhile.
      #expect(came.wait(timeout: .now() + 60) == .success)
      #expect(!isOnMain)
      await off.value
      await on.value
      #expect(isOnMain)
    }
  }

  @Test
  func `A completion handler does not run if the manager ends first or its task is cancelled`()
    async throws
  {
    let ends = Ends()
    var tasks: [Task<Void, Never>] = []
    try await StepFixture.with { fixture in
      let step = try await fixture.manager.add(.step("spin", input: "1"))
      await fixture.gate.waitForArrivals(1)
      tasks = [step.onEnd { ends.add($0) }, step.onEnd { ends.add($0) }]
      tasks[0].cancel()
      await tasks[0].value
    }
    await tasks[1].value
    #expect(ends.states.isEmpty)
  }

  @Test func `A group's completion is reported although a member is retried at that moment`()
    async throws
  {
    try await StepFixture.with(active: 2) { fixture in
      let manager = fixture.manager
      let isFirst = NIOLockedValueBox(true)
      manager.register(step: "once") { context in
        let fails = isFirst.withLockedValue { first in
          defer { first = false }
          return first
        }
        if fails { throw TransferError(.io, "the first time") }
        await fixture.gate.pass("again")
      }
      let events = manager.events()
      var request = TransferRequest.step("once")
      request.group = "g"
      await manager.suspend()
      let step = try await manager.add(request)
      async let outcomes = manager.group("g").completion()
      async let retried: Void = {
        for await event in events {
          guard case .finished = event.kind else { continue }
          try await step.retry()
          break
        }
      }()
      await manager.unsuspend()
      try await retried
      await fixture.gate.waitForArrivals(1)
      // It runs again, but its end was reported.
      #expect(try await outcomes.count == 1)
      fixture.gate.open()
      #expect(try await step.result.state == .completed)
    }
  }

  @Test func `An empty queue is reported although a transfer is added at that moment`() async throws
  {
    try await StepFixture.with { fixture in
      let manager = fixture.manager
      let events = manager.events()
      try await manager.add(.step("gate", input: "1"))
      await fixture.gate.waitForArrivals(1)
      async let empty: Void = manager.waitUntilEmpty()
      async let next: Transfer? = {
        for await event in events {
          if case .finished = event.kind { return try await manager.add(.step("spin", input: "2")) }
        }
        return nil
      }()
      fixture.gate.open()
      let second = try await next
      await fixture.gate.waitForArrivals(2)
      // The second runs until it is stopped.
      await empty
      try await second?.cancel()
    }
  }

  @Test func `Every end is stored when the empty queue is reported`() async throws {
    let store = MemoryStore()
    try await StepFixture.with(store: store) { fixture in
      for count in 1...50 {
        try await fixture.run(2)
        let members = try await store.open().members
        #expect(members.count == 2 * count)
        #expect(members.allSatisfy { $0.storedState.status == .completed })
      }
    }
  }
}
