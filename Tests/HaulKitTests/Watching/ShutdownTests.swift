import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// The end of a manager.
@Suite(.timeLimit(.minutes(10))) struct ShutdownTests {
  /// What a transfer waits for when the manager ends.
  enum Wait: CaseIterable, Sendable {
    case body, head, retry, host, slot

    var faults: [Fault] {
      switch self {
      case .body, .slot: [Fault(.stall(after: 100 << 10))]
      case .head: [Fault(.stallBeforeHead)]
      case .retry: [Fault(.close(after: 0))]
      case .host: [Fault(.retryLater(status: 429, seconds: 3000))]
      }
    }
  }

  @Test(arguments: Wait.allCases)
  func `A shutdown ends any wait of a transfer at once, and leaves no timers`(
    wait: Wait
  ) async throws {
    let resource = FaultScript.Resource("/a", seed: 1, length: 1 << 20, faults: wait.faults)
    try await DownloadFixture.with([resource]) { fixture in
      // No time passes.
      let clock = ManualClock()
      let (manager, end) = try fixture.manager(clock: clock)
      let log = EventLog(of: manager)
      let added = try await manager.add([
        try fixture.request("/a", as: "a") { $0.retry.retries = 8 },
        try fixture.request("/a", as: "b"),
      ])
      switch wait {
      case .body, .head, .slot: try await fixture.server.waitForHeld("/a")
      case .retry, .host:
        try await log.wait { history in
          history.kinds(of: added[0]).contains { if case .attempt = $0 { true } else { false } }
        }
      }
      await manager.shutdown()
      #expect(clock.now == Instant())
      #expect(clock.sleeperCount == 0, "\(clock.wakeUps)")
      for transfer in added { #expect(await transfer.summary?.state == .queued) }
      let history = await log.whole()
      #expect(added.allSatisfy { history.results(of: $0).isEmpty })
      await end()
      try await fixture.server.waitUntil { $0.connectionsOpen == 0 }
    }
  }

  @Test func `A shutdown does not wait for a retry that was restored after a restart`() async throws
  {
    let resource = FaultScript.Resource.plain("a").with { $0.faults = [Fault(.close(after: 0))] }
    let (clock, store) = (ManualClock(), MemoryStore())
    try await DownloadFixture.with([resource]) { fixture in
      let (first, endFirst) = try fixture.manager(clock: clock, store: store)
      try await first.add(try fixture.request("/a", as: "a") { $0.retry.retries = 8 })
      try await until {
        try await store.open().members.contains { $0.storedState.retryAt != nil }
      }
      await endFirst()
      #expect(clock.sleeperCount == 0)
      let count = fixture.server.snapshot.requests.count
      let (second, endSecond) = try fixture.manager(clock: clock, store: store)
      try await second.coordinator.open()
      try await until { clock.sleeperCount == 1 }
      await endSecond()
      #expect(clock.sleeperCount == 0)
      #expect(fixture.server.snapshot.requests.count == count)
    }
  }

  @Test func `A shutdown makes a checkpoint, and the next program reuses the bytes`() async throws {
    let store = MemoryStore()
    try await DownloadFixture.with([.held("a"), .held("b")]) { fixture in
      _ = try await fixture.queue(active: 2, store: store) { queue in
        for transfer in try await queue.add("a", "b") { try await queue.hold(transfer) }
      }
      for name in ["a", "b"] { fixture.server.setFaults("/\(name)", []) }
      _ = try await fixture.queue(active: 2, store: store) { queue in
        await queue.manager.waitUntilEmpty()
        let ids = await queue.manager.summaries().map(\.id)
        for record in try await store.records(ids) {
          #expect(record.result?.state == .completed && (record.result?.reused ?? 0) > 0)
        }
        #expect(ids.count == 2)
      }
    }
  }

  @Test func `A shutdown awaits a step that pauses, without waiting for a timer`() async throws {
    let (clock, gate, store) = (ManualClock(), StepGate(), MemoryStore())
    try await StepFixture.with(clock: clock, store: store, gate: gate) { fixture in
      let step = try await fixture.manager.add(.step("spin", input: "1"))
      await gate.waitForArrivals(1)
      await fixture.manager.shutdown()
      #expect(clock.now == Instant() && clock.sleeperCount == 0)
      #expect(gate.inside == 0)
      #expect(await step.summary?.state == .queued)
    }
    #expect(try await store.open().members.map(\.storedState.wasRunning) == [false])
  }

  @Test(arguments: [true, false])
  func `A shutdown cancels a step that ignores the pause, with the result of a crash`(
    isIdempotent: Bool
  ) async throws {
    let (clock, store, runs) = (ManualClock(), MemoryStore(), NIOLockedValueBox(0))
    var request = StepRequest(.named("deaf", input: nil))
    request.isIdempotent = isIdempotent
    try await StepFixture.with(clock: clock, store: store) { fixture in
      fixture.manager.register(step: "deaf") { _ in
        runs.withLockedValue { $0 += 1 }
        try? await until { Task.isCancelled }
        throw CancellationError()
      }
      try await fixture.manager.add(TransferRequest(.step(request)))
      try await until { runs.withLockedValue { $0 } == 1 }
      async let end: Void = fixture.manager.shutdown()
      try await until { clock.wakeUps == [.seconds(4)] }
      clock.advance(by: .seconds(4))
      await end
      #expect(clock.sleeperCount == 0)
    }
    #expect(try await store.open().members.map(\.storedState.wasRunning) == [true])
    let register = { @Sendable (manager: TransferManager) in
      manager.register(step: "deaf") { _ in runs.withLockedValue { $0 += 1 } }
    }
    try await StepFixture.with(store: store, register: register) { fixture in
      await fixture.manager.waitUntilEmpty()
      let result = try await store.records(fixture.manager.summaries().map(\.id)).first?.result
      #expect(result?.error?.code == (isIdempotent ? nil : .interrupted))
      #expect(runs.withLockedValue { $0 } == (isIdempotent ? 2 : 1))
    }
  }

  @Test func `A pausing step that the shutdown cancels is interrupted and not run again`()
    async throws
  {
    let (clock, store, runs) = (ManualClock(), MemoryStore(), NIOLockedValueBox(0))
    try await StepFixture.with(clock: clock, store: store) { fixture in
      fixture.manager.register(step: "deaf") { _ in
        runs.withLockedValue { $0 += 1 }
        try? await until { Task.isCancelled }
        throw CancellationError()
      }
      let step = try await fixture.manager.add(.step("deaf"))
      try await until { runs.withLockedValue { $0 } == 1 }
      async let pause = step.pause()
      try await until { await step.summary?.state != .running }
      async let end: Void = fixture.manager.shutdown()
      try await until { clock.wakeUps == [.seconds(4)] }
      clock.advance(by: .seconds(4))
      await end
      _ = try? await pause
    }
    let register = { @Sendable (manager: TransferManager) in
      manager.register(step: "deaf") { _ in runs.withLockedValue { $0 += 1 } }
    }
    try await StepFixture.with(store: store, register: register) { fixture in
      _ = try await fixture.manager.resume(.all)
      await fixture.manager.waitUntilEmpty()
      let step = try #require(try await fixture.manager.transfers().first)
      #expect(await code(step) == .interrupted)
      #expect(runs.withLockedValue { $0 } == 1)
    }
  }

  @Test func `A shutdown abandons a download that does not stop within five seconds`() async throws
  {
    let (clock, gate) = (ManualClock(), StepGate())
    try await DownloadFixture.with([.plain("a")]) { fixture in
      let (manager, end) = try fixture.manager(clock: clock) { configuration in
        // A hook that signs requests, and ignores cancellation.
        configuration.prepare = { _ in
          await gate.pass("sign")
          return []
        }
      }
      let a = try await manager.add(try fixture.request("/a", as: "a"))
      await gate.waitForArrivals(1)
      async let shutdown: Void = manager.shutdown()
      try await until { clock.wakeUps.contains(.seconds(4)) }
      clock.advance(by: .seconds(4))
      try await until { clock.wakeUps.contains(.seconds(5)) }
      clock.advance(by: .seconds(1))
      await shutdown
      #expect(await a.summary?.state != .completed)
      #expect(clock.sleeperCount == 0)
      await end()
      gate.open()
      try await until { gate.inside == 0 }
      #expect(fixture.server.snapshot.requests.isEmpty)
    }
  }

  @Test func `A shutdown abandons a step that ignores everything after five seconds`() async throws
  {
    let (clock, gate, store) = (ManualClock(), StepGate(), MemoryStore())
    try await StepFixture.with(clock: clock, store: store, gate: gate) { fixture in
      let step = try await fixture.manager.add(.step("gate", input: "1"))
      await gate.waitForArrivals(1)
      async let end: Void = fixture.manager.shutdown()
      // A pending call of `pause` does not wait any longer.
      async let pause = step.pause()
      try await until { clock.wakeUps == [.seconds(4)] }
      clock.advance(by: .seconds(4))
      try await until { clock.wakeUps == [.seconds(5)] }
      clock.advance(by: .seconds(1))
      await end
      _ = try? await pause
      #expect(gate.inside == 1 && clock.sleeperCount == 0)
      gate.open()
      try await until { gate.inside == 0 }
    }
    // Its later end is not reported.
    #expect(try await store.open().members.map(\.storedState.wasRunning) == [true])
  }

  @Test func `An end that cannot be stored does not delay the shutdown`() async throws {
    let (clock, store) = (ManualClock(), ReplayStore())
    try await StepFixture.with(clock: clock, store: store) { fixture in
      let step = try await fixture.manager.add(.step("gate", input: "1"))
      await fixture.gate.waitForArrivals(1)
      store.refuse(TransferError(.diskFull, "no space is left"))
      fixture.gate.open()
      try await until { clock.wakeUps == [.seconds(1)] }
      await fixture.manager.shutdown()
      #expect(clock.now == Instant() && clock.sleeperCount == 0)
      #expect(await step.summary?.state != .completed)
    }
  }
}
