import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Acceptance 8 of the queue: the end of a manager.
@Suite(.timeLimit(.minutes(2))) struct ShutdownTests {
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
  func `It waits for nothing that takes time, and nothing sleeps afterwards`(
    wait: Wait
  ) async throws {
    let resource = FaultScript.Resource("/a", seed: 1, length: 1 << 20, faults: wait.faults)
    try await Bench.with([resource]) { bench in
      // No time passes at all.
      let clock = ManualClock()
      let (manager, end) = try bench.manager(clock: clock)
      let log = EventLog(of: manager)
      let added = try await manager.add([
        try bench.request("/a", as: "a") { $0.retry.retries = 8 },
        try bench.request("/a", as: "b"),
      ])
      switch wait {
      case .body, .head, .slot: try await bench.server.waitForHeld("/a")
      case .retry, .host:
        try await log.wait { history in
          history.kinds(of: added[0]).contains { if case .attempt = $0 { true } else { false } }
        }
      }
      await manager.shutdown()
      #expect(clock.now == Instant())
      #expect(clock.sleeping == 0, "\(clock.wakeUps)")
      for transfer in added { #expect(await transfer.summary?.state == .queued) }
      let history = await log.whole()
      #expect(added.allSatisfy { history.results(of: $0).isEmpty })
      await end()
      try await bench.server.waitUntil { $0.connectionsOpen == 0 }
    }
  }

  @Test func `An attempt that is due later after a restart is not waited for either`() async throws
  {
    let resource = FaultScript.Resource.plain("a").with { $0.faults = [Fault(.close(after: 0))] }
    let (clock, store) = (ManualClock(), MemoryStore())
    try await Bench.with([resource]) { bench in
      let (first, endFirst) = try bench.manager(clock: clock, store: store)
      try await first.add(try bench.request("/a", as: "a") { $0.retry.retries = 8 })
      try await until {
        try await store.open().members.contains { $0.storedState.retryAt != nil }
      }
      await endFirst()
      #expect(clock.sleeping == 0)
      let count = bench.server.snapshot.requests.count
      let (second, endSecond) = try bench.manager(clock: clock, store: store)
      try await second.open()
      try await until { clock.sleeping == 1 }
      await endSecond()
      #expect(clock.sleeping == 0)
      #expect(bench.server.snapshot.requests.count == count)
    }
  }

  @Test func `It takes a checkpoint: what has come is there for the next program`() async throws {
    let store = MemoryStore()
    try await Bench.with([.held("a"), .held("b")]) { bench in
      _ = try await bench.queue(active: 2, store: store) { queue in
        for transfer in try await queue.add("a", "b") { try await queue.hold(transfer) }
      }
      for name in ["a", "b"] { bench.server.setFaults("/\(name)", []) }
      _ = try await bench.queue(active: 2, store: store) { queue in
        await queue.manager.waitUntilEmpty()
        let ids = await queue.manager.summaries().map(\.id)
        for record in try await store.records(ids) {
          #expect(record.result?.state == .completed && (record.result?.reused ?? 0) > 0)
        }
        #expect(ids.count == 2)
      }
    }
  }

  @Test func `A step that pauses is waited for, without any time passing`() async throws {
    let (clock, gate, store) = (ManualClock(), StepGate(), MemoryStore())
    try await StepBench.with(clock: clock, store: store, gate: gate) { bench in
      let step = try await bench.manager.add(.step("spin", input: "1"))
      await gate.waitForArrivals(1)
      await bench.manager.shutdown()
      #expect(clock.now == Instant() && clock.sleeping == 0)
      #expect(gate.inside == 0)
      #expect(await step.summary?.state == .queued)
    }
    #expect(try await store.open().members.map(\.storedState.isUnderWay) == [false])
  }

  @Test(arguments: [true, false])
  func `A step that only heeds its task's cancellation is cut short: as a crash would have`(
    isIdempotent: Bool
  ) async throws {
    let (clock, store, runs) = (ManualClock(), MemoryStore(), NIOLockedValueBox(0))
    var request = StepRequest(.named("deaf", input: nil))
    request.isIdempotent = isIdempotent
    try await StepBench.with(clock: clock, store: store) { bench in
      await bench.manager.register(step: "deaf") { _ in
        runs.withLockedValue { $0 += 1 }
        while !Task.isCancelled { await Task.yield() }
        throw CancellationError()
      }
      try await bench.manager.add(TransferRequest(.step(request)))
      try await until { runs.withLockedValue { $0 } == 1 }
      async let end: Void = bench.manager.shutdown()
      try await until { clock.wakeUps == [.seconds(4)] }
      clock.move(by: .seconds(4))
      await end
      #expect(clock.sleeping == 0)
    }
    #expect(try await store.open().members.map(\.storedState.isUnderWay) == [true])
    let register = { @Sendable (manager: TransferManager) in
      await manager.register(step: "deaf") { _ in runs.withLockedValue { $0 += 1 } }
    }
    try await StepBench.with(store: store, register: register) { bench in
      await bench.manager.waitUntilEmpty()
      let result = try await store.records(bench.manager.summaries().map(\.id)).first?.result
      #expect(result?.error?.code == (isIdempotent ? nil : .interrupted))
      #expect(runs.withLockedValue { $0 } == (isIdempotent ? 2 : 1))
    }
  }

  @Test func `A step that was to pause and was cut short is interrupted, and not run once more`()
    async throws
  {
    let (clock, store, runs) = (ManualClock(), MemoryStore(), NIOLockedValueBox(0))
    try await StepBench.with(clock: clock, store: store) { bench in
      await bench.manager.register(step: "deaf") { _ in
        runs.withLockedValue { $0 += 1 }
        while !Task.isCancelled { await Task.yield() }
        throw CancellationError()
      }
      let step = try await bench.manager.add(.step("deaf"))
      try await until { runs.withLockedValue { $0 } == 1 }
      async let pause = step.pause()
      try await until { await step.summary?.state != .running }
      async let end: Void = bench.manager.shutdown()
      try await until { clock.wakeUps == [.seconds(4)] }
      clock.move(by: .seconds(4))
      await end
      _ = try? await pause
    }
    let register = { @Sendable (manager: TransferManager) in
      await manager.register(step: "deaf") { _ in runs.withLockedValue { $0 += 1 } }
    }
    try await StepBench.with(store: store, register: register) { bench in
      _ = try await bench.manager.resume(.all)
      await bench.manager.waitUntilEmpty()
      let step = try #require(try await bench.manager.transfers().first)
      #expect(await code(step) == .interrupted)
      #expect(runs.withLockedValue { $0 } == 1)
    }
  }

  @Test func `A download that does not stop is left after five seconds, with what it has claimed`()
    async throws
  {
    let (clock, gate) = (ManualClock(), StepGate())
    try await Bench.with([.plain("a")]) { bench in
      let (manager, end) = try bench.manager(clock: clock) { configuration in
        // Whoever signs requests, and takes no notice of the end.
        configuration.prepare = { _ in
          await gate.pass("sign")
          return []
        }
      }
      let a = try await manager.add(try bench.request("/a", as: "a"))
      await gate.waitForArrivals(1)
      async let shutdown: Void = manager.shutdown()
      try await until { clock.wakeUps.contains(.seconds(4)) }
      clock.move(by: .seconds(4))
      try await until { clock.wakeUps.contains(.seconds(5)) }
      clock.move(by: .seconds(1))
      await shutdown
      #expect(await a.summary?.state != .completed)
      #expect(clock.sleeping == 0)
      await end()
      gate.open()
      try await until { gate.inside == 0 }
      #expect(bench.server.snapshot.requests.isEmpty)
    }
  }

  @Test func `A step that heeds nothing is left after five seconds`() async throws {
    let (clock, gate, store) = (ManualClock(), StepGate(), MemoryStore())
    try await StepBench.with(clock: clock, store: store, gate: gate) { bench in
      let step = try await bench.manager.add(.step("gate", input: "1"))
      await gate.waitForArrivals(1)
      async let end: Void = bench.manager.shutdown()
      // One that waits for its pause is not kept waiting.
      async let pause = step.pause()
      try await until { clock.wakeUps == [.seconds(4)] }
      clock.move(by: .seconds(4))
      try await until { clock.wakeUps == [.seconds(5)] }
      clock.move(by: .seconds(1))
      await end
      _ = try? await pause
      #expect(gate.inside == 1 && clock.sleeping == 0)
      gate.open()
      try await until { gate.inside == 0 }
    }
    // What it came to afterwards is told nobody.
    #expect(try await store.open().members.map(\.storedState.isUnderWay) == [true])
  }

  @Test func `An end that cannot be stored does not hold it up`() async throws {
    let (clock, store) = (ManualClock(), ReplayStore())
    try await StepBench.with(clock: clock, store: store) { bench in
      let step = try await bench.manager.add(.step("gate", input: "1"))
      await bench.gate.waitForArrivals(1)
      store.refuse(TransferError(.diskFull, "no space is left"))
      bench.gate.open()
      try await until { clock.wakeUps == [.seconds(1)] }
      await bench.manager.shutdown()
      #expect(clock.now == Instant() && clock.sleeping == 0)
      #expect(await step.summary?.state != .completed)
    }
  }
}
