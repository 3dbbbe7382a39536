import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Limits, suspension, counts, and the end of each member.
@Suite(.timeLimit(.minutes(10))) struct LimitTests {
  private static let held = ["a", "b", "c", "d", "e"].map { FaultScript.Resource.held($0) }

  @Test func `Raising the limit starts more transfers at once, and lowering it stops none`()
    async throws
  {
    try await QueueFixture.with(Self.held, atMost: 3) { queue in
      let manager = queue.manager
      let added = try await queue.add("a", "b", "c", "d", "e")
      try await queue.hold(added[0])
      #expect(await queue.states == [.running, .queued, .queued, .queued, .queued])
      await manager.setLimits(maximumActive: 3, maximumActivePerHost: 3)
      try await queue.hold(added[1])
      try await queue.hold(added[2])
      #expect(await queue.states == [.running, .running, .running, .queued, .queued])
      await manager.setLimits(maximumActive: 1, maximumActivePerHost: 1)
      #expect(await queue.states == [.running, .running, .running, .queued, .queued])
      for index in [0, 1] {
        queue.release(added[index])
        _ = try await added[index].result
        #expect(await queue.states.count { $0 == .running } == 2 - index)
        #expect(Set(queue.asked) == ["a", "b", "c"] && queue.asked.count == 3)
      }
      queue.release(added[2])
      _ = try await added[2].result
      try await queue.hold(added[3])
      #expect(await added[4].summary?.state == .queued)
      queue.release(added[3])
      queue.release(added[4])
      await manager.waitUntilEmpty()
      #expect(await queue.states.allSatisfy { $0 == .completed })
    }
  }

  @Test func `Whether the list is suspended can be read`() async throws {
    try await StepFixture.with { fixture in
      #expect(!fixture.manager.isSuspended)
      await fixture.manager.suspend()
      #expect(fixture.manager.isSuspended)
      await fixture.manager.unsuspend()
      #expect(!fixture.manager.isSuspended)
    }
  }

  @Test func `Connection and rate limits also apply while transfers run`() async throws {
    let length: Int64 = 4 << 20
    let big = FaultScript.Resource("/big", seed: 9, length: length)
    try await DownloadFixture.with([big]) { fixture in
      let clock = ManualClock()
      let (manager, end) = try fixture.manager(clock: clock)
      // So slow that only the first bytes arrive, because no time passes.
      manager.setRateLimit(1)
      await manager.setLimits(connectionsPerHost: 2, maximumConnections: 3)
      let transfer = try await manager.add(try fixture.request("/big", as: "big"))
      try await until { clock.sleeperCount > 0 && !fixture.server.snapshot.requests.isEmpty }
      #expect(await transfer.summary?.state == .running)
      manager.setRateLimit(nil)
      #expect(try await transfer.result.state == .completed)
      #expect(try fixture.isWhole("big", seed: 9, length: Int(length)))
      #expect(fixture.server.snapshot.total.maximumInProgress <= 2)
      await end()
    }
  }

  @Test func `Limits that change during starts are never exceeded`() async throws {
    let names = (0..<40).map { "f\($0)" }
    try await QueueFixture.with(names.map { .plain($0) }, active: 1, atMost: 3) { queue in
      let manager = queue.manager
      try await withThrowingTaskGroup(of: Void.self) { group in
        for name in names {
          group.addTask { _ = try await manager.add(queue.request(name)) }
          group.addTask { [limit = 1 + name.utf8.count % 3] in
            await manager.setLimits(maximumActive: limit, maximumActivePerHost: limit)
          }
        }
        try await group.waitForAll()
      }
      await manager.waitUntilEmpty()
      #expect(await manager.counts == [.completed: 40])
    }
  }

  @Test func `A limit of one that is set again during starts admits no second transfer`()
    async throws
  {
    let names = (0..<40).map { "f\($0)" }
    try await QueueFixture.with(names.map { .plain($0) }) { queue in
      let manager = queue.manager
      await manager.setLimits(maximumActive: 1, maximumActivePerHost: 1)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (number, name) in names.enumerated() {
          group.addTask { _ = try await manager.add(queue.request(name)) }
          // One of the two is one at any time, so that one is the limit.
          group.addTask { [other = 1 + number % 3] in
            if number.isMultiple(of: 2) {
              await manager.setLimits(maximumActive: 1, maximumActivePerHost: other)
            } else {
              await manager.setLimits(maximumActive: other, maximumActivePerHost: 1)
            }
          }
        }
        try await group.waitForAll()
      }
      await manager.waitUntilEmpty()
      #expect(await manager.counts == [.completed: 40])
      #expect(queue.asked.sorted() == names.sorted(), "each file was requested once")
    }
  }

  @Test func `A suspended queue starts nothing new, and running transfers continue`() async throws {
    var added: [Transfer] = []
    let history = try await QueueFixture.with([.held("a"), .plain("b"), .plain("c")]) { queue in
      let manager = queue.manager
      added = try await queue.add("a", "b")
      try await queue.hold(added[0])
      await manager.suspend()
      queue.release(added[0])
      _ = try await added[0].result
      // Every call that could start a transfer.
      added += try await queue.add("c")
      try await added[1].pause()
      try await added[1].resume()
      try await added[1].start()
      await manager.setLimits(maximumActive: 4, maximumActivePerHost: 4)
      #expect(await queue.states == [.completed, .queued, .queued])
      #expect(queue.asked == ["a"])
      await manager.setLimits(maximumActive: 1, maximumActivePerHost: 1)
      await manager.unsuspend()
      await manager.waitUntilEmpty()
      #expect(queue.asked == ["a", "b", "c"])
    }
    #expect(history.starts.count == 3)
  }

  @Test func `Those that wait for a slot say that the queue is suspended, and what comes then`()
    async throws
  {
    var waiting: Transfer?
    let history = try await QueueFixture.with([.held("a"), .plain("b")], active: 1) { queue in
      let added = try await queue.add("a", "b")
      waiting = added[1]
      try await queue.hold(added[0])
      await queue.manager.suspend()
      await queue.manager.suspend()
      await queue.manager.unsuspend()
      queue.release(added[0])
      await queue.manager.waitUntilEmpty()
    }
    let reasons = history.events.filter { $0.id == waiting?.id }.compactMap { event in
      if case .waiting(let reason) = event.kind { reason } else { nil }
    }
    #expect(reasons == [.slot, .suspended, .slot])
  }

  @Test func `All transfers or a single one can be cancelled`() async throws {
    let history = try await QueueFixture.with(Self.held, active: 3) { queue in
      let manager = queue.manager
      let added = try await queue.add("a", "b", "c", "d", "e")
      for transfer in added.prefix(3) { try await queue.hold(transfer) }
      try await added[1].cancel()
      try await queue.hold(added[3])
      #expect(await queue.states == [.running, .cancelled, .running, .running, .queued])
      _ = try await manager.cancel(.all)
      #expect(await manager.counts == [.cancelled: 5])
      await manager.waitUntilEmpty()
      #expect(try queue.base.names().isEmpty)
      #expect(queue.server.snapshot.requestCount("/e") == 0)
    }
    #expect(
      history.events.allSatisfy {
        if case .finished(let result) = $0.kind { result.state == .cancelled } else { true }
      })
  }

  @Test func `The counts of members are right at any moment`() async throws {
    let names: [FaultScript.Resource] = [.plain("a"), .broken("b"), .held("c"), .held("d")]
    try await QueueFixture.with(names) { queue in
      let manager = queue.manager
      #expect(await manager.counts.isEmpty)
      let added = try await queue.add("a", "b", "c", "d")
      try await queue.hold(added[2])
      #expect(await manager.counts == [.completed: 1, .failed: 1, .running: 1, .queued: 1])
      try await added[2].pause()
      try await queue.hold(added[3])
      #expect(await manager.counts == [.completed: 1, .failed: 1, .paused: 1, .running: 1])
      _ = try await manager.remove(.filter { $0.state == .paused || $0.state.isEnded })
      #expect(await manager.counts == [.running: 1])
      #expect(await manager.summaries().map(\.id) == [added[3].id])
      _ = try await manager.remove(.all)
      #expect(await manager.counts.isEmpty)
      #expect(try queue.base.names() == ["a"])
    }
  }

  @Test func `Every waiter gets the end of its transfer, off the main actor`() async throws {
    let names: [FaultScript.Resource] = [.plain("a"), .broken("b"), .held("c")]
    try await QueueFixture.with(names) { queue in
      let added = try await queue.add("a", "b", "c")
      let ends = added.map { transfer in
        Task { @concurrent in
          let end = await code(transfer)
          // Two may await the same one.
          #expect(await code(transfer) == end)
          return end
        }
      }
      try await queue.hold(added[2])
      try await added[2].cancel()
      #expect(await ends[0].value == nil)
      #expect(await ends[1].value == .connectionLost)
      #expect(await ends[2].value == .cancelled)
    }
  }

  @Test func `A cancelled wait does not stop the transfer`() async throws {
    try await QueueFixture.with([.held("a")]) { queue in
      let a = try await queue.add("a")[0]
      try await queue.hold(a)
      let waiter = Task { await code(a) }
      waiter.cancel()
      #expect(await waiter.value == .interrupted)
      #expect(await a.summary?.state == .running)
      queue.release(a)
      #expect(await code(a) == nil)
    }
  }
}
