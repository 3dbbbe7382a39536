import HaulCore
import HaulKit
import HaulTesting
import Testing

/// From the plain request to a failure half-way.
@Suite(.timeLimit(.minutes(10))) struct TransferLifecycleTests {
  @Test func `A request that was not added is a plain value, and nothing runs`() async throws {
    let history = try await QueueFixture.with([.plain("a")]) { queue in
      let request = try queue.request("a")
      #expect(try request == queue.request("a"))
      await queue.manager.waitUntilEmpty()
      #expect(await queue.manager.counts.isEmpty)
      #expect(queue.asked.isEmpty)
      #expect(try queue.base.names().isEmpty)
    }
    #expect(history.events.isEmpty)
  }

  @Test func `Added transfers are queued, and start in order as slots become free`() async throws {
    let history = try await QueueFixture.with([.held("a"), .held("b"), .plain("c")]) { queue in
      let transfers = try await queue.add("a", "b", "c")
      try await queue.hold(transfers[0])
      #expect(await queue.states == [.running, .queued, .queued])
      #expect(queue.asked == ["a"])
      queue.release(transfers[0])
      try await queue.hold(transfers[1])
      #expect(await queue.states == [.completed, .running, .queued])
      #expect(queue.asked == ["a", "b"])
      queue.release(transfers[1])
      await queue.manager.waitUntilEmpty()
      #expect(await queue.states == [.completed, .completed, .completed])
      #expect(queue.asked == ["a", "b", "c"])
      for transfer in transfers {
        try queue.expectWhole(transfer)
        #expect(queue.log.history.starts(of: transfer) <= 1)
      }
    }
    #expect(Set(history.starts).count == 3 && history.starts.count == 3, "\(history)")
  }

  @Test func `A completed transfer is reported once and stays in the list`() async throws {
    var added: Transfer?
    let history = try await QueueFixture.with([.plain("a")]) { queue in
      let a = try #require(try await queue.add("a").first)
      added = a
      let result = try await a.result
      #expect(result.state == .completed && result.path == queue.base.path("a"))
      await queue.manager.waitUntilEmpty()
      #expect(await a.summary?.state == .completed)
      #expect(await queue.manager.counts == [.completed: 1])
      // A late caller gets the end too.
      #expect(try await a.result == result)
      try queue.expectWhole(a)
    }
    let a = try #require(added)
    #expect(history.changes(of: a) == [.added, .completed])
    #expect(history.results(of: a).count == 1)
  }

  @Test func `Pausing a download frees its slot, and the next one starts by itself`() async throws {
    var added: [Transfer] = []
    let history = try await QueueFixture.with([.held("a"), .plain("b")]) { queue in
      added = try await queue.add("a", "b")
      let (a, b) = (added[0], added[1])
      try await queue.hold(a)
      #expect(queue.requests(b).isEmpty)
      try await a.pause()
      #expect(await a.summary?.state == .paused)
      // Without a command.
      try #require(try await b.result.state == .completed)
      #expect(await a.summary?.state == .paused)
      #expect(queue.requests(a).count == 1)
      #expect(try queue.base.names() == ["a.haul.journal", "a.haul.part", "b"])
      queue.release(a)
      try await a.resume()
      #expect(try await a.result.reused > 0)
      #expect(queue.requests(a).last?.range?.hasPrefix("bytes=0-") == false)
      try queue.expectWhole(a)
    }
    #expect(history.changes(of: added[0]) == [.added, .paused, .resumed, .completed])
    #expect(history.changes(of: added[1]) == [.added, .completed])
  }

  @Test func `A cancelled download is neither failed nor completed, and leaves no files`()
    async throws
  {
    var added: [Transfer] = []
    let history = try await QueueFixture.with([.held("a"), .plain("b")]) { queue in
      added = try await queue.add("a", "b")
      let (a, b) = (added[0], added[1])
      try await queue.hold(a)
      async let end = code(a)
      try await a.cancel()
      #expect(await a.summary?.state == .cancelled)
      #expect(try !queue.base.names().contains { $0.hasPrefix("a") })
      #expect(await end == .cancelled)
      try #require(try await b.result.state == .completed)
      #expect(await queue.states == [.cancelled, .completed])
      #expect(queue.requests(a).count == 1)
    }
    #expect(history.changes(of: added[0]) == [.added, .cancelled])
    #expect(history.results(of: added[0]).first?.error == nil)
  }

  @Test func `A cancel can keep the bytes of a running download`() async throws {
    var added: [Transfer] = []
    let history = try await QueueFixture.with([.held("a")]) { queue in
      added = try await queue.add("a")
      let a = added[0]
      try await queue.hold(a)
      try await a.cancel(keepingBytes: true)
      #expect(await a.summary?.state == .cancelled)
      #expect(try queue.base.names() == ["a.haul.journal", "a.haul.part"])
      queue.release(a)
      try await a.retry()
      #expect(try await a.result.reused > 0)
      try queue.expectWhole(a)
    }
    #expect(history.changes(of: added[0]) == [.added, .cancelled, .resumed, .completed])
  }

  /// The first of two was paused midway, and the second has its slot.
  private func afterPause(
    _ body: (QueueFixture, Transfer, Transfer) async throws -> Void
  ) async throws -> (History, Transfer) {
    var added: [Transfer] = []
    let history = try await QueueFixture.with([.held("a"), .held("b")]) { queue in
      added = try await queue.add("a", "b")
      try await queue.hold(added[0])
      try await added[0].pause()
      try await queue.hold(added[1])
      try await body(queue, added[0], added[1])
    }
    return (history, try #require(added.first))
  }

  @Test func `A resumed transfer continues from its bytes when a slot is free`() async throws {
    let (history, first) = try await afterPause { queue, a, b in
      queue.server.setFaults("/a", [])
      try await a.resume()
      #expect(await queue.states == [.queued, .running])
      #expect(queue.requests(a).count == 1)
      // A second one has no effect.
      try await a.resume()
      #expect(await queue.states == [.queued, .running])
      queue.release(b)
      let result = try await a.result
      #expect(result.reused > 0 && result.fetched < Int64(QueueFixture.length), "\(result)")
      #expect(await queue.states == [.completed, .completed])
      #expect(queue.asked == ["a", "b", "a"])
      try queue.expectWhole(a)
      try queue.expectWhole(b)
    }
    #expect(history.changes(of: first) == [.added, .paused, .resumed, .completed])
  }

  @Test func `A paused transfer is cancelled at once, and stays in the list`() async throws {
    let (history, first) = try await afterPause { queue, a, b in
      // The only slot is taken, and stays so.
      try await a.cancel()
      #expect(await queue.states == [.cancelled, .running])
      #expect(try !queue.base.names().contains { $0.hasPrefix("a") })
      #expect(await code(a) == .cancelled)
      #expect(await refusal { try await a.resume() }?.refusal == .isCancelled)
      #expect(await a.summary?.state == .cancelled)
      queue.release(b)
      _ = try await b.result
      await queue.manager.waitUntilEmpty()
      #expect(queue.asked == ["a", "b"])
      try await a.remove()
      #expect(await a.summary == nil)
      #expect(await queue.states == [.completed])
    }
    #expect(history.changes(of: first) == [.added, .paused, .cancelled])
  }

  @Test func `A failed download keeps its position and bytes, and a retry resumes from them`()
    async throws
  {
    var added: [Transfer] = []
    let history = try await QueueFixture.with([.plain("0"), .broken("a"), .plain("b")]) { queue in
      added = try await queue.add("0", "a", "b")
      let a = added[1]
      #expect(await code(a) == .connectionLost)
      await queue.manager.waitUntilEmpty()
      #expect(await queue.states == [.completed, .failed, .completed])
      #expect(try queue.base.names() == ["0", "a.haul.journal", "a.haul.part", "b"])
      #expect(await refusal { try await a.resume() }?.refusal == .hasFailed)
      queue.server.setFaults("/a", [])
      try await a.retry()
      #expect(try await a.result.reused == Int64(QueueFixture.stallOffset))
      #expect(
        queue.requests(a).last?.range?.hasPrefix("bytes=\(QueueFixture.stallOffset)-") == true)
      #expect(await queue.states == [.completed, .completed, .completed])
      try queue.expectWhole(a)
    }
    #expect(history.changes(of: added[1]) == [.added, .failed, .resumed, .completed])
  }
}
