import HaulCore
import HaulKit
import HaulTesting
import Testing

/// The order of starts, by position and by command.
@Suite(.timeLimit(.minutes(10))) struct OrderTests {
  private static let names: [FaultScript.Resource] = [
    .held("a"), .plain("b"), .plain("c"), .plain("d"), .plain("e"),
  ]

  @Test func `Start on a queued transfer puts it before all others`() async throws {
    try await QueueFixture.with(Self.names) { queue in
      let added = try await queue.add("a", "b", "c", "d", "e")
      try await queue.hold(added[0])
      try await added[3].start()
      #expect(queue.asked == ["a"])
      queue.release(added[0])
      await queue.manager.waitUntilEmpty()
      #expect(queue.asked == ["a", "d", "b", "c", "e"])
    }
  }

  @Test func `Only an explicit force exceeds the limit, by one`() async throws {
    let names: [FaultScript.Resource] = [.held("a"), .plain("b"), .held("c"), .plain("d")]
    try await QueueFixture.with(names, atMost: 2) { queue in
      let added = try await queue.add("a", "b", "c", "d")
      try await queue.hold(added[0])
      try await added[1].pause()
      // A waiting one and a paused one.
      try await added[2].start(force: true)
      try await queue.hold(added[2])
      #expect(await queue.states == [.running, .paused, .running, .queued])
      // It counts as active: the end of one of two frees no slot.
      queue.release(added[0])
      _ = try await added[0].result
      #expect(await queue.states == [.completed, .paused, .running, .queued])
      try await added[1].start(force: true)
      _ = try await added[1].result
      #expect(await queue.states == [.completed, .completed, .running, .queued])
      queue.release(added[2])
      _ = try await added[3].result
      #expect(queue.asked == ["a", "c", "b", "d"])
    }
  }

  @Test func `A list reordered during a run starts in the new order`() async throws {
    try await QueueFixture.with(Self.names) { queue in
      let added = try await queue.add("a", "b", "c", "d", "e")
      try await queue.hold(added[0])
      let manager = queue.manager
      _ = try await manager.move([added[3].id], to: .first)
      _ = try await manager.move([added[1].id], to: .last)
      _ = try await manager.move([added[4].id], to: .before(added[2].id))
      queue.release(added[0])
      await manager.waitUntilEmpty()
      #expect(queue.asked == ["a", "d", "e", "c", "b"])
    }
  }

  @Test func `Any move during a run is visible in the list and loses no transfer`() async throws {
    try await QueueFixture.with(Self.names) { queue in
      let manager = queue.manager
      let added = try await queue.add("a", "b", "c", "d", "e")
      try await queue.hold(added[0])
      func move(_ indices: Int..., to position: QueuePosition, expect expected: String) async throws
      {
        _ = try await manager.move(.ids(indices.map { added[$0].id }), to: position)
        let order = await manager.summaries().map(\.id)
        let names = order.map { id in added.first { $0.id == id }.map(queue.name) ?? "?" }
        #expect(names.joined() == expected)
      }
      try await move(3, to: .first, expect: "dabce")
      try await move(0, to: .last, expect: "dbcea")
      try await move(4, 1, to: .first, expect: "ebdca")
      try await move(0, 4, to: .after(added[1].id), expect: "baedc")
      try await move(2, to: .before(added[0].id), expect: "bcaed")
      try await move(2, to: .before(added[2].id), expect: "bcaed")
      #expect(await queue.states == [.queued, .queued, .running, .queued, .queued])
      #expect(queue.asked == ["a"])
      queue.release(added[0])
      await manager.waitUntilEmpty()
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `The order survives every command and the end of the program`(
    kind: StoreKind
  ) async throws {
    try await DownloadFixture.with(Self.names) { fixture in
      let stores = Stores(kind)
      defer { stores.remove() }
      var order: [TransferID] = []
      let history = try await fixture.queue(store: stores.open()) { queue in
        let manager = queue.manager
        let added = try await queue.add("a", "b", "c", "d", "e")
        try await queue.hold(added[0])
        _ = try await manager.move([added[4].id, added[0].id], to: .after(added[2].id))
        order = await manager.summaries().map(\.id)
        #expect(order == [1, 2, 4, 0, 3].map { added[$0].id })
        // Otherwise another one starts, and may complete before it is cancelled.
        await manager.suspend()
        try await added[0].pause()
        try await added[2].cancel()
        _ = try await manager.retry(.all)
        _ = try await manager.restart(.ids([added[4].id]))
        #expect(await manager.summaries().map(\.id) == order)
        await manager.unsuspend()
        queue.server.setFaults("/a", [])
        try await added[0].resume()
        await manager.waitUntilEmpty()
        #expect(await manager.summaries().map(\.id) == order)
      }
      history.expectSound()
      _ = try await fixture.queue(store: stores.open()) { queue in
        #expect(await queue.manager.summaries().map(\.id) == order)
      }
    }
  }

  @Test func `Repeated moves to one position keep the right order`() async throws {
    let store = MemoryStore()
    try await DownloadFixture.with([]) { fixture in
      _ = try await fixture.queue(store: store) { queue in
        let manager = queue.manager
        await manager.suspend()
        let requests = try (0..<100).map { try queue.request("\($0)") }
        let ids = try await manager.add(requests).map(\.id)
        // Each moves directly behind the first: soon there is no room between two ranks.
        for id in ids.dropFirst() { _ = try await manager.move([id], to: .after(ids[0])) }
        let expected = ids.prefix(1) + ids.dropFirst().reversed()
        #expect(await manager.summaries().map(\.id) == Array(expected))
        let stored = try await store.open().members.map(\.id)
        #expect(stored == Array(expected))
      }
    }
  }

  @Test func `A list is read page by page in its order`() async throws {
    try await StepFixture.with { fixture in
      let manager = fixture.manager
      await manager.suspend()
      let requests = (0..<7).map { number in
        var request = TransferRequest.step("pass")
        request.group = number % 2 == 0 ? "even" : nil
        return request
      }
      var ids = try await manager.add(requests).map(\.id)
      _ = try await manager.move([ids[6]], to: .first)
      ids = [ids[6]] + ids[..<6]
      var read: [TransferID] = []
      var pages = 0
      while true {
        let page = try await manager.summaries(after: read.last, atMost: 3)
        if page.isEmpty { break }
        read += page.map(\.id)
        pages += 1
      }
      #expect(read == ids && pages == 3)
      let even = try await manager.summaries(after: ids[0], atMost: 2, of: "even")
      #expect(even.map(\.id) == [ids[1], ids[3]])
      _ = try await manager.remove(.ids([ids[2]]))
      #expect(try await manager.summaries(after: ids[2], atMost: 3).isEmpty)
    }
  }
}
