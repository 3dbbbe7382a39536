import FoundationEssentials
import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Commands to one transfer, and to many.
@Suite(.timeLimit(.minutes(10))) struct QueueCommandTests {
  @Test func `Start, pause, resume, restart and success each have their own event`() async throws {
    var added: Transfer?
    let history = try await QueueFixture.with([.held("a")]) { queue in
      let a = try await queue.add("a")[0]
      added = a
      try await queue.hold(a)
      // A command that changes nothing causes no event.
      try await a.resume()
      try await a.pause()
      try await a.pause()
      queue.release(a)
      try await a.resume()
      #expect(try await a.result.reused > 0)
      try await a.restart()
      #expect(try await a.result.reused == 0)
      try queue.expectWhole(a)
    }
    let a = try #require(added)
    #expect(
      history.changes(of: a) == [.added, .paused, .resumed, .completed, .resumed, .completed])
    #expect(history.starts(of: a) == 3)
    #expect(history.bytes(of: a).contains { $0 > 0 })
    #expect(history.kinds(of: a).contains(.paused(by: .user)))
  }

  @Test func `Failure and cancellation are each reported once`() async throws {
    var added: [Transfer] = []
    let history = try await QueueFixture.with([.broken("a"), .held("b")]) { queue in
      added = try await queue.add("a", "b")
      try await queue.hold(added[1])
      try await added[1].cancel()
      try await added[1].cancel()
      // Also for one that has failed.
      try await added[0].cancel()
      #expect(await queue.states == [.cancelled, .cancelled])
      #expect(try queue.base.names().isEmpty)
    }
    #expect(history.changes(of: added[0]) == [.added, .failed, .cancelled])
    #expect(history.changes(of: added[1]) == [.added, .cancelled])
    #expect(history.results(of: added[0])[0].error?.code == .connectionLost)
  }

  @Test func `The same identifier finds the same transfer, or is refused on request`() async throws
  {
    try await QueueFixture.with([.held("a"), .plain("b")]) { queue in
      func request(_ name: String) throws -> TransferRequest {
        var request = try queue.request(name)
        request.identifier = "mine"
        return request
      }
      let first = try await queue.manager.add(try request("a"))
      try await queue.hold(first)
      #expect(try await queue.manager.add(try request("a")) == first)
      #expect(await first.summary?.identifier == "mine")
      let error = await #expect(throws: TransferError.self) {
        try await queue.manager.add([queue.request("b"), request("b")], ifKnown: .refuse)
      }
      #expect(error?.code == .inUse)
      let twice = await #expect(throws: TransferError.self) {
        var other = try queue.request("b")
        other.identifier = "two"
        try await queue.manager.add([other, other])
      }
      #expect(twice?.code == .inUse)
      #expect(await queue.manager.counts == [.running: 1])
      // After its removal the name is free.
      try await first.remove()
      let second = try await queue.manager.add(try request("b"))
      #expect(second != first)
      _ = try await second.result
      #expect(queue.asked == ["a", "b"])
    }
  }

  @Test func `The identifier of a transfer that is being removed is still in use`() async throws {
    let gate = StepGate()
    var hooks = Hooks()
    hooks.willPublish = { _ in await gate.pass("publish") }
    try await QueueFixture.with([.plain("a")], hooks: hooks) { queue in
      var request = try queue.request("a")
      request.identifier = "mine"
      let same = request
      let a = try await queue.manager.add(same)
      await gate.waitForArrivals(1)
      async let removal = a.remove()
      try await until { await a.summary?.state != .running }
      let error = await #expect(throws: TransferError.self) { try await queue.manager.add(same) }
      #expect(error?.code == .inUse)
      gate.open()
      _ = try await removal
      #expect(try await queue.manager.transfer(identifier: "mine") == nil)
      #expect(try await queue.manager.add(same) != a)
      await queue.manager.waitUntilEmpty()
    }
  }

  @Test func `Each transfer without an identifier gets its own id`() async throws {
    try await QueueFixture.with([]) { queue in
      await queue.manager.suspend()
      let added = try await queue.manager.add((0..<500).map { try queue.request("\($0)") })
      #expect(Set(added.map(\.id)).count == 500)
      #expect(await queue.manager.summaries().allSatisfy { $0.identifier == nil })
    }
  }

  @Test func `Progress can be disabled for one transfer, and its states are still reported`()
    async throws
  {
    var added: [Transfer] = []
    let history = try await QueueFixture.with([.held("a"), .held("b")], active: 2) { queue in
      var quiet = try queue.request("a")
      quiet.reportsProgress = false
      added = try await queue.manager.add([quiet, try queue.request("b")])
      try await queue.server.waitForHeld("/a")
      try await queue.hold(added[1])
      // By the time the other has reported progress, the quiet one would have too.
      queue.release(added[0])
      _ = try await added[0].result
      queue.release(added[1])
      _ = try await added[1].result
    }
    #expect(history.bytes(of: added[0]).isEmpty)
    #expect(!history.bytes(of: added[1]).isEmpty)
    #expect(history.changes(of: added[0]) == [.added, .completed])
  }

  @Test func `All transfers can be paused, resumed, cancelled and restarted at once`() async throws
  {
    let names = ["a", "b", "c", "d"]
    var added: [Transfer] = []
    let history = try await QueueFixture.with(names.map { .held($0) }, active: 2) { queue in
      let manager = queue.manager
      added = try await manager.add(
        names.map { name in
          var request = try queue.request(name)
          request.identifier = "id-\(name)"
          return request
        })
      for transfer in added.prefix(2) { try await queue.hold(transfer) }
      #expect(try await manager.pause(.all).refused.isEmpty)
      #expect(await manager.counts == [.paused: 4])
      #expect(queue.asked.sorted() == ["a", "b"])
      #expect(try await manager.resume(.all).refused.isEmpty)
      try await queue.server.waitForRequests(4)
      for transfer in added.prefix(2) { try await queue.hold(transfer) }
      #expect(await manager.counts == [.running: 2, .queued: 2])
      #expect(try await manager.cancel(.all).refused.isEmpty)
      #expect(await manager.counts == [.cancelled: 4])
      #expect(try queue.base.names().isEmpty)
      for transfer in added { queue.release(transfer) }
      #expect(try await manager.restart(.all).refused.isEmpty)
      await manager.waitUntilEmpty()
      #expect(await manager.counts == [.completed: 4])
      for transfer in added {
        try queue.expectWhole(transfer)
        #expect(try await transfer.result.reused == 0)
      }
    }
    for transfer in added {
      #expect(
        history.changes(of: transfer) == [
          .added, .paused, .resumed, .cancelled, .resumed, .completed,
        ])
    }
    // A command on many is stored as one change after the other, without others in between.
    let pauses = history.events.filter { $0.kind == .paused(by: .user) }.compactMap(\.number)
    #expect(pauses.count == 4)
  }
}
