import FoundationEssentials
import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Steps are members of the queue like transfers.
@Suite(.timeLimit(.minutes(10))) struct StepTests {
  @Test func `The number of running steps reaches the limit and does not exceed it`() async throws {
    let gate = StepGate()
    try await QueueFixture.with([], active: 4) { queue in
      queue.manager.register(step: "s", gate.step)
      try await queue.manager.add((0..<10).map { .step("s", input: "\($0)") })
      await gate.waitForArrivals(4)
      #expect(await queue.manager.counts == [.running: 4, .queued: 6])
      gate.open()
      await queue.manager.waitUntilEmpty()
      #expect(await queue.manager.counts == [.completed: 10])
      #expect(gate.mostInside == 4)
      #expect(Set(gate.came).count == 10 && gate.came.count == 10)
    }
  }

  @Test func `The host limit does not apply to steps`() async throws {
    let gate = StepGate()
    try await QueueFixture.with([], active: 1) { queue in
      queue.manager.register(step: "s", gate.step)
      await queue.manager.setLimits(maximumActive: 6, maximumActivePerHost: 1)
      try await queue.manager.add((0..<6).map { .step("s", input: "\($0)") })
      await gate.waitForArrivals(6)
      gate.open()
      await queue.manager.waitUntilEmpty()
    }
  }

  @Test func `The error of a step has the description of the thrown error`() async throws {
    struct Broken: LocalizedError {
      var errorDescription: String? { "the archive has no index" }
    }
    try await QueueFixture.with([]) { queue in
      queue.manager.register(step: "s") { _ in throw Broken() }
      let step = try await queue.manager.add(.step("s"))
      let error = await #expect(throws: TransferError.self) { _ = try await step.result }
      #expect(error?.errorDescription == "the step failed: the archive has no index")
    }
  }

  @Test func `Steps and downloads share the limit, in one order`() async throws {
    let gate = StepGate()
    try await QueueFixture.with([.held("a"), .plain("b")]) { queue in
      queue.manager.register(step: "s", gate.step)
      let a = try await queue.add("a")[0]
      let step = try await queue.manager.add(.step("s", input: "1"))
      let b = try await queue.add("b")[0]
      try await queue.hold(a)
      #expect(await queue.states == [.running, .queued, .queued])
      queue.release(a)
      await gate.waitForArrivals(1)
      #expect(await queue.states == [.completed, .running, .queued])
      #expect(queue.asked == ["a"])
      gate.open()
      _ = try await b.result
      #expect(try await step.result.state == .completed)
    }
  }

  @Test func `A step that throws has failed, and its error names the thrown type`() async throws {
    struct Own: Error {}
    var added: Transfer?
    let history = try await QueueFixture.with([.plain("a")]) { queue in
      queue.manager.register(step: "bad") { _ in throw Own() }
      let bad = try await queue.manager.add(.step("bad"))
      added = bad
      guard case .failure(let error) = await outcome(bad) else {
        Issue.record("it did not fail")
        return
      }
      #expect(error.message.contains("Own"))
      _ = try await queue.add("a")[0].result
      #expect(await queue.states == [.failed, .completed])
    }
    #expect(history.changes(of: try #require(added)) == [.added, .failed])
  }

  @Test func `A step can be cancelled midway, which frees its slot and is reported once`()
    async throws
  {
    let gate = StepGate()
    var added: [Transfer] = []
    let history = try await QueueFixture.with([]) { queue in
      queue.manager.register(step: "endless", gate.spin())
      queue.manager.register(step: "short", gate.spin(times: 0))
      added = try await queue.manager.add([
        .step("endless", input: "1"), .step("short", input: "2"),
      ])
      await gate.waitForArrivals(1)
      #expect(await queue.states == [.running, .queued])
      try await added[0].cancel()
      #expect(await added[0].summary?.state == .cancelled)
      #expect(await code(added[0]) == .cancelled)
      _ = try await added[1].result
      #expect(gate.came == ["1", "2"] && gate.mostInside == 1)
    }
    #expect(history.changes(of: added[0]) == [.added, .cancelled])
  }

  @Test func `A paused step starts again when it is resumed, and never runs twice at once`()
    async throws
  {
    let gate = StepGate()
    var added: Transfer?
    let history = try await QueueFixture.with([], active: 3) { queue in
      queue.manager.register(step: "s", gate.spin(times: 1))
      let step = try await queue.manager.add(.step("s", input: "1"))
      added = step
      await gate.waitForArrivals(1)
      try await step.pause()
      #expect(await step.summary?.state == .paused)
      #expect(gate.came == ["1"])
      try await step.resume()
      _ = try await step.result
      #expect(gate.came == ["1", "1"] && gate.mostInside == 1)
    }
    #expect(
      history.changes(of: try #require(added)) == [.added, .paused, .resumed, .completed])
  }

  @Test func `Concurrent pauses and resumes never run a step twice`() async throws {
    let gate = StepGate()
    try await QueueFixture.with([], active: 3) { queue in
      queue.manager.register(step: "s", gate.spin())
      let step = try await queue.manager.add(.step("s", input: "1"))
      for _ in 0..<50 {
        async let stop = step.pause()
        async let start = step.resume()
        _ = try await (stop, start)
      }
      // The button still works.
      try await step.pause()
      #expect(await step.summary?.state == .paused)
      let before = gate.came.count
      try await step.resume()
      await gate.waitForArrivals(before + 1)
      try await step.cancel()
      #expect(await step.summary?.state == .cancelled)
      #expect(gate.mostInside == 1)
    }
  }

  @Test func `An unregistered step fails with its name, and runs once it is registered`()
    async throws
  {
    let gate = StepGate()
    gate.open()
    try await QueueFixture.with([]) { queue in
      let step = try await queue.manager.add(.step("later", input: "1"))
      guard case .failure(let error) = await outcome(step) else {
        Issue.record("it did not fail")
        return
      }
      #expect(error.message.contains("later"))
      queue.manager.register(step: "later", gate.step)
      try await step.retry()
      _ = try await step.result
      #expect(gate.came == ["1"])
    }
  }

  @Test(arguments: [true, false])
  func `A step interrupted by a crash fails, and an idempotent one runs again`(
    isIdempotent: Bool
  ) async throws {
    let (first, second) = (StepGate(), StepGate())
    second.open()
    let store = ReplayStore()
    try await DownloadFixture.with([]) { fixture in
      var step = StepRequest(.named("s", input: "1"))
      step.isIdempotent = isIdempotent
      _ = try await fixture.queue(store: store) { queue in
        queue.manager.register(step: "s", first.step)
        _ = try await queue.manager.add(TransferRequest(.step(step)))
        await first.waitForArrivals(1)
        let dead = await store.afterCrash()
        first.open()
        let register = { @Sendable (manager: TransferManager) in
          manager.register(step: "s", second.step)
        }
        _ = try await fixture.queue(store: dead, register: register) { later in
          await later.manager.waitUntilEmpty()
          #expect(await later.states == [isIdempotent ? .completed : .failed])
          #expect(second.came == (isIdempotent ? ["1"] : []))
        }
      }
    }
  }
}
