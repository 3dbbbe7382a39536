import FoundationEssentials
import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Hard cases of a queue; see docs/cases.md.
@Suite(.timeLimit(.minutes(10))) struct QueueCases {
  @Test func `Concurrent pause, cancel and removal of one transfer start one other`() async throws {
    let names: [FaultScript.Resource] = [.held("a"), .held("b"), .plain("c"), .plain("d")]
    try await QueueFixture.with(names) { queue in
      let added = try await queue.add("a", "b", "c", "d")
      let a = added[0]
      try await queue.hold(a)
      async let pause = a.pause()
      async let again = a.pause()
      async let cancel = a.cancel()
      async let remove = a.remove()
      _ = try await (pause, again, cancel, remove)
      #expect(await a.summary == nil)
      try await queue.hold(added[1])
      #expect(await queue.states == [.running, .queued, .queued])
      #expect(queue.asked == ["a", "b"])
      queue.release(added[1])
      await queue.manager.waitUntilEmpty()
    }
  }

  @Test func `The slot of a stopped transfer is freed only when its kept connection is closed`()
    async throws
  {
    let gate = StepGate()
    try await QueueFixture.with([.plain("0"), .held("a"), .held("b")], gate: gate) { queue in
      _ = try await queue.add("0")[0].result
      let added = try await queue.add("a", "b")
      try await queue.hold(added[0])
      #expect(Set(queue.server.snapshot.requests.map(\.connection)).count == 1)
      async let pause = added[0].pause()
      await gate.waitForArrivals(1)
      await queue.manager.unsuspend()
      #expect(await queue.states == [.completed, .stopping, .queued])
      gate.open()
      try await pause
      #expect(queue.server.snapshot.inProgress("/a") == 0)
      try await queue.hold(added[1])
      #expect(queue.asked == ["0", "a", "b"])
    }
  }

  @Test func `A paused transfer holds no connection and no file`() async throws {
    try await QueueFixture.with([.held("a")]) { queue in
      let a = try await queue.add("a")[0]
      try await queue.hold(a)
      try await a.pause()
      try await queue.server.waitUntil { $0.connectionsOpen == 0 }
      // Another program may have removed its part file.
      try FileManager.default.removeItem(atPath: queue.base.path("a.haul.part"))
      queue.release(a)
      try await a.resume()
      _ = try await a.result
      try queue.expectWhole(a)
    }
  }

  @Test(arguments: [true, false])
  func `A pause or cancel during publication has no effect`(isPause: Bool)
    async throws
  {
    let gate = StepGate()
    var hooks = Hooks()
    hooks.willPublish = { _ in await gate.pass("publish") }
    var added: Transfer?
    let history = try await QueueFixture.with([.plain("a")], hooks: hooks) { queue in
      let a = try await queue.add("a")[0]
      added = a
      await gate.waitForArrivals(1)
      async let command = isPause ? a.pause() : a.cancel()
      try await until { await a.summary?.state != .running }
      #expect(await a.summary?.state == .stopping)
      gate.open()
      _ = try await command
      #expect(await a.summary?.state == .completed)
      #expect(await code(a) == nil)
      try queue.expectWhole(a)
    }
    #expect(history.changes(of: try #require(added)) == [.added, .completed])
  }

  @Test(arguments: [true, false], [DownloadRequest.IfExists.update, .fail])
  func `A restart during publication replaces the file`(
    isExact: Bool, ifExists: DownloadRequest.IfExists
  ) async throws {
    let gate = StepGate()
    var hooks = Hooks()
    hooks.willPublish = { _ in await gate.pass("publish") }
    let resource = FaultScript.Resource.plain("a").with { $0.lastModified = nil }
    try await QueueFixture.with([resource], hooks: hooks) { queue in
      let a = try await queue.manager.add(
        try queue.request("a") { request in
          if !isExact { request.destination = .directory(queue.base.directory) }
          request.ifExists = ifExists
        })
      await gate.waitForArrivals(1)
      async let command = a.restart()
      try await until { await a.summary?.state != .running }
      gate.open()
      _ = try await command
      let result = try await a.result
      #expect(result.path == queue.base.path("a") && result.reused == 0)
      #expect(try queue.base.names() == ["a"])
      #expect(queue.requests(a).count == 2)
      try queue.expectWhole(a)
    }
  }

  @Test func `A cancelled transfer is not retried`() async throws {
    let busy = FaultScript.Resource.plain("a").with { $0.faults = [Fault(.status(503))] }
    var added: Transfer?
    let history = try await QueueFixture.with([busy]) { queue in
      let a = try await queue.manager.add(try queue.request("a") { $0.retry.retries = 100 })
      added = a
      try await queue.log.wait { history in
        history.kinds(of: a).contains { if case .attempt = $0 { true } else { false } }
      }
      try await a.cancel()
      #expect(await code(a) == .cancelled)
      await queue.manager.waitUntilEmpty()
    }
    #expect(history.changes(of: try #require(added)) == [.added, .cancelled])
  }

  @Test
  func `A running transfer stops before its files are removed, and a second removal succeeds`()
    async throws
  {
    var added: [Transfer] = []
    let history = try await QueueFixture.with([.held("a"), .plain("b")]) { queue in
      added = try await queue.add("a", "b")
      let a = added[0]
      try await queue.hold(a)
      async let end = code(a)
      try await a.remove()
      #expect(try !queue.base.names().contains { $0.hasPrefix("a") })
      #expect(await a.summary == nil)
      try await a.remove()
      #expect(await refusal { try await a.pause() }?.refusal == .isUnknown)
      #expect([.interrupted, .cancelled].contains(await end))
      _ = try await added[1].result
      // A finished file stays.
      try await added[1].remove()
      try queue.expectWhole(added[1])
      #expect(await queue.manager.counts.isEmpty)
    }
    #expect(history.changes(of: added[0]) == [.added, .cancelled])
  }

  @Test func `Resume of a completed transfer is refused, and downloads nothing`() async throws {
    var added: Transfer?
    let history = try await QueueFixture.with([.plain("a")]) { queue in
      let a = try await queue.add("a")[0]
      added = a
      _ = try await a.result
      #expect(await refusal { try await a.resume() }?.refusal == .isCompleted)
      #expect(await refusal { try await a.pause() }?.refusal == .isCompleted)
      #expect(await refusal { try await a.requeue() }?.refusal == .isCompleted)
      #expect(await refusal { try await a.cancel() }?.refusal == .isCompleted)
      #expect(await refusal { try await a.start() }?.refusal == .isCompleted)
      #expect(await refusal { try await a.start(force: true) }?.refusal == .isCompleted)
      await queue.manager.waitUntilEmpty()
      #expect(queue.asked == ["a"])
      try queue.expectWhole(a)
    }
    #expect(history.changes(of: try #require(added)) == [.added, .completed])
  }

  @Test func `A transfer that waits to retry holds no slot, and keeps its position`() async throws {
    let flaky = FaultScript.Resource.plain("a").with {
      $0.faults = [Fault(.status(503), when: .request(1))]
    }
    try await QueueFixture.with([flaky, .held("b"), .plain("c")]) { queue in
      let a = try queue.request("a") { $0.retry.retries = 3 }
      let added = try await queue.manager.add([a, queue.request("b"), queue.request("c")])
      try await queue.hold(added[1])
      // Its delay is over, and it waits for the slot.
      try await queue.log.wait { $0.reasons(of: added[0]).contains(.slot) }
      #expect(queue.asked == ["a", "b"])
      queue.release(added[1])
      await queue.manager.waitUntilEmpty()
      #expect(queue.asked == ["a", "b", "a", "c"])
      #expect(await queue.states == [.completed, .completed, .completed])
    }
  }

  @Test func `A retry delay survives a restart, and a start ends it`() async throws {
    let later = FaultScript.Resource.plain("a").with {
      $0.faults = [Fault(.retryLater(status: 503, seconds: 3600))]
    }
    let store = MemoryStore()
    try await DownloadFixture.with([later, .plain("b")]) { fixture in
      var added: Transfer?
      _ = try await fixture.queue(store: store) { queue in
        let a = try queue.request("a") {
          $0.retry.retries = 3
          $0.retry.maximumTimeWithoutProgress = .seconds(7200)
        }
        let transfer = try await queue.manager.add(a)
        added = transfer
        try await until {
          (try? await store.records([transfer.id]).first?.storedState.hostPause) != nil
        }
      }
      fixture.server.setFaults("/a", [])
      let a = try #require(added)
      // As if the time were that of its own backoff, which a start ends.
      var storedState = try #require(try await store.records([a.id]).first).storedState
      storedState.waitReason = .retry(at: try #require(storedState.hostPause))
      var change = StoreChange()
      change.updated = [
        .init(id: a.id, storedState: storedState, keepsRankAndPriority: true)
      ]
      try await store.commit(change)
      _ = try await fixture.queue(store: store) { queue in
        try await queue.log.wait { $0.reasons(of: a).contains { $0.code == "retry" } }
        let b = try await queue.add("b")[0]
        _ = try await b.result
        #expect(queue.asked == ["a", "b"])
        #expect(await queue.states == [.queued, .completed])
        _ = try await queue.manager.start(.ids([a.id]))
        await queue.manager.waitUntilEmpty()
        #expect(await queue.states == [.completed, .completed])
      }
    }
  }

  @Test func `A host that asked for a pause delays no other host`() async throws {
    let busy = FaultScript.Resource.plain("a").with {
      $0.faults = [Fault(.retryLater(status: 429, seconds: 3600))]
    }
    try await QueueFixture.with([busy, .plain("b"), .plain("c")]) { queue in
      func at(_ host: String, _ name: String) throws -> TransferRequest {
        try queue.request(name) {
          $0.url = try ResourceURL(queue.server.url("/\(name)", host: host))
          $0.retry.retries = 3
          $0.retry.maximumTimeWithoutProgress = .seconds(7200)
        }
      }
      let added = try await queue.manager.add([
        at("127.0.0.1", "a"), at("127.0.0.1", "c"), at("localhost", "b"),
      ])
      _ = try await added[2].result
      #expect(await added[1].summary?.state == .queued)
      #expect(queue.asked == ["a", "b"])
    }
  }

  @Test func `A shutdown ends every wait, and running transfers count as not ended`() async throws {
    var added: [Transfer] = []
    let history = try await QueueFixture.with([.held("a"), .plain("b")]) { queue in
      added = try await queue.add("a", "b")
      try await queue.hold(added[0])
      let ends = added.map { transfer in Task { await code(transfer) } }
      let empty = Task { await queue.manager.waitUntilEmpty() }
      await queue.manager.shutdown()
      await queue.manager.shutdown()
      for end in ends { #expect(await end.value == .interrupted) }
      await empty.value
      #expect(queue.asked == ["a"])
      let error = await #expect(throws: TransferError.self) { _ = try await queue.add("b") }
      #expect(error?.code == .interrupted)
    }
    for transfer in added { #expect(history.results(of: transfer).isEmpty) }
  }
}
