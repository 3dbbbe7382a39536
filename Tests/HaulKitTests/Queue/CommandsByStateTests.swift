import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Commands to a transfer that waits, is paused, or has ended.
@Suite(.timeLimit(.minutes(10))) struct CommandsByStateTests {
  @Test
  func `A pause parks a queued transfer, a cancel ends it, and a resume changes nothing`()
    async throws
  {
    var added: [Transfer] = []
    let names: [FaultScript.Resource] = [.held("a"), .plain("b"), .plain("c"), .plain("d")]
    let history = try await QueueFixture.with(names) { queue in
      added = try await queue.add("a", "b", "c", "d")
      try await queue.hold(added[0])
      try await added[1].pause()
      try await added[2].cancel()
      try await added[3].resume()
      #expect(await queue.states == [.running, .paused, .cancelled, .queued])
      queue.release(added[0])
      await queue.manager.waitUntilEmpty()
      #expect(await queue.states == [.completed, .paused, .cancelled, .completed])
      #expect(queue.asked == ["a", "d"])
      try await added[1].resume()
      _ = try await added[1].result
      #expect(queue.asked == ["a", "d", "b"])
    }
    #expect(history.changes(of: added[1]) == [.added, .paused, .resumed, .completed])
    #expect(history.changes(of: added[2]) == [.added, .cancelled])
    #expect(history.changes(of: added[3]) == [.added, .completed])
  }

  @Test func `Start on a queued or paused transfer respects the limit`() async throws {
    let history = try await QueueFixture.with([.held("a"), .held("b"), .plain("c")]) { queue in
      let added = try await queue.add("a", "b", "c")
      let (a, b, c) = (added[0], added[1], added[2])
      try await queue.hold(a)
      try await c.start()
      try await b.pause()
      try await b.start()
      #expect(await queue.states == [.running, .queued, .queued])
      #expect(queue.asked == ["a"])
      queue.release(a)
      queue.server.setFaults("/b", [])
      await queue.manager.waitUntilEmpty()
      #expect(await queue.states == [.completed, .completed, .completed])
    }
    #expect(history.starts.count == 3)
  }

  @Test func `A requeued running transfer keeps its bytes and position, and starts again`()
    async throws
  {
    var added: [Transfer] = []
    let history = try await QueueFixture.with([.held("a"), .plain("b")]) { queue in
      added = try await queue.add("a", "b")
      let a = added[0]
      try await queue.hold(a)
      queue.server.setFaults("/a", [])
      try await a.requeue()
      #expect(try await a.result.reused > 0)
      await queue.manager.waitUntilEmpty()
      // Its position is before the other one's.
      #expect(queue.asked == ["a", "a", "b"])
      #expect(await queue.states == [.completed, .completed])
      try queue.expectWhole(a)
    }
    #expect(!history.changes(of: added[0]).contains(.paused))
    #expect(history.changes(of: added[0]).last == .completed)
    #expect(history.results(of: added[0]).count == 1)
  }

  @Test func `A requeued paused transfer keeps its bytes and position, and waits for a slot`()
    async throws
  {
    try await QueueFixture.with([.held("a"), .held("b"), .plain("c")]) { queue in
      let added = try await queue.add("a", "b", "c")
      try await queue.hold(added[0])
      try await added[0].pause()
      try await queue.hold(added[1])
      queue.server.setFaults("/a", [])
      try await added[0].requeue()
      #expect(await queue.states == [.queued, .running, .queued])
      queue.release(added[1])
      #expect(try await added[0].result.reused > 0)
      await queue.manager.waitUntilEmpty()
      #expect(queue.asked == ["a", "b", "a", "c"])
      try queue.expectWhole(added[0])
    }
  }

  @Test func `Retry of a failed or cancelled transfer resumes from its bytes at its old position`()
    async throws
  {
    let names: [FaultScript.Resource] = [.broken("a"), .held("b"), .held("c"), .plain("d")]
    let history = try await QueueFixture.with(names) { queue in
      let added = try await queue.add("a", "b", "c", "d")
      try await queue.hold(added[1])
      try await added[1].cancel(keepingBytes: true)
      try await queue.hold(added[2])
      queue.server.setFaults("/a", [])
      queue.server.setFaults("/b", [])
      // The later one first, because its position decides.
      try await added[1].retry()
      try await added[0].retry()
      #expect(await queue.states == [.queued, .queued, .running, .queued])
      queue.release(added[2])
      await queue.manager.waitUntilEmpty()
      #expect(queue.asked == ["a", "b", "c", "a", "b", "d"])
      for transfer in added { try queue.expectWhole(transfer) }
      #expect(try await added[0].result.reused == Int64(QueueFixture.stallOffset))
      #expect(try await added[1].result.reused > 0)
    }
    #expect(history.events.allSatisfy { $0.kind != .phase(.restarted, reason: nil) })
  }

  @Test func `Restart of an ended transfer begins at byte 0, at its old position`() async throws {
    let names: [FaultScript.Resource] = [.broken("a"), .plain("b"), .held("c"), .held("d")]
    try await QueueFixture.with(names) { queue in
      let added = try await queue.add("a", "b", "c", "d")
      try await queue.hold(added[2])
      try await added[2].cancel(keepingBytes: true)
      try await queue.hold(added[3])
      queue.server.setFaults("/a", [])
      queue.server.setFaults("/c", [])
      #expect(await refusal { try await added[1].retry() }?.refusal == .isCompleted)
      for index in [2, 1, 0] { try await added[index].restart() }
      #expect(await queue.states == [.queued, .queued, .queued, .running])
      // A completed file stays until the new one is whole.
      try queue.expectWhole(added[1])
      queue.release(added[3])
      await queue.manager.waitUntilEmpty()
      #expect(queue.asked == ["a", "b", "c", "d", "a", "b", "c"])
      for transfer in added {
        try queue.expectWhole(transfer)
        let result = try await transfer.result
        #expect(result.reused == 0 && result.fetched == Int64(QueueFixture.length), "\(result)")
      }
      #expect(try queue.base.names() == ["a", "b", "c", "d"])
    }
  }

  @Test func `Restart of a running transfer begins at byte 0, without a second run beside it`()
    async throws
  {
    var added: [Transfer] = []
    let history = try await QueueFixture.with([.held("a"), .plain("b")]) { queue in
      added = try await queue.add("a", "b")
      try await queue.hold(added[0])
      queue.server.setFaults("/a", [])
      try await added[0].restart()
      let result = try await added[0].result
      #expect(result.reused == 0 && result.fetched == Int64(QueueFixture.length), "\(result)")
      await queue.manager.waitUntilEmpty()
      #expect(queue.asked == ["a", "a", "b"])
      try queue.expectWhole(added[0])
    }
    #expect(history.results(of: added[0]).count == 1)
  }
}
