import HaulCore
import HaulKit
import HaulTesting
import Testing

/// How the end of one transfer affects the next one.
@Suite(.timeLimit(.minutes(10))) struct NextTransferTests {
  @Test func `A transfer that waits for a slot is queued, and reports the reason`() async throws {
    var added: [Transfer] = []
    let history = try await QueueFixture.with([.held("a"), .plain("b")]) { queue in
      added = try await queue.add("a", "b")
      try await queue.hold(added[0])
      #expect(await queue.states == [.running, .queued])
      try await queue.log.wait { [b = added[1]] in !$0.reasons(of: b).isEmpty }
      #expect(queue.requests(added[1]).isEmpty)
      queue.release(added[0])
      _ = try await added[1].result
    }
    #expect(history.reasons(of: added[1]).first == .slot)
    #expect(history.changes(of: added[1]) == [.added, .completed])
  }

  @Test func `After a failed transfer the next one starts by itself`() async throws {
    var added: [Transfer] = []
    let history = try await QueueFixture.with([.broken("a"), .plain("b")]) { queue in
      added = try await queue.add("a", "b")
      _ = try await added[1].result
      #expect(await queue.states == [.failed, .completed])
      #expect(queue.asked == ["a", "b"])
    }
    #expect(history.changes(of: added[0]) == [.added, .failed])
  }

  @Test func `After a paused transfer the next one starts by itself, and the first stays paused`()
    async throws
  {
    var added: [Transfer] = []
    let history = try await QueueFixture.with([.held("a"), .plain("b"), .plain("c")]) { queue in
      added = try await queue.add("a", "b", "c")
      try await queue.hold(added[0])
      try await added[0].pause()
      await queue.manager.waitUntilEmpty()
      #expect(await queue.states == [.paused, .completed, .completed])
      #expect(queue.asked == ["a", "b", "c"])
    }
    #expect(history.changes(of: added[0]) == [.added, .paused])
  }

  @Test func `After a cancelled transfer the next one starts by itself`() async throws {
    var added: [Transfer] = []
    let history = try await QueueFixture.with([.held("a"), .plain("b")]) { queue in
      added = try await queue.add("a", "b")
      try await queue.hold(added[0])
      try await added[0].cancel()
      _ = try await added[1].result
      #expect(await queue.states == [.cancelled, .completed])
      #expect(queue.asked == ["a", "b"])
    }
    #expect(history.changes(of: added[0]) == [.added, .cancelled])
  }

  @Test func `After a transfer is cancelled while paused, the next one starts by itself`()
    async throws
  {
    var added: [Transfer] = []
    let history = try await QueueFixture.with([.held("a"), .held("b"), .plain("c")]) { queue in
      added = try await queue.add("a", "b", "c")
      try await queue.hold(added[0])
      try await added[0].pause()
      try await queue.hold(added[1])
      try await added[1].pause()
      // Before the third has ended, and without a resume.
      try await added[0].cancel()
      try await added[1].cancel()
      _ = try await added[2].result
      #expect(await queue.states == [.cancelled, .cancelled, .completed])
      #expect(queue.asked == ["a", "b", "c"])
      #expect(try queue.base.names() == ["c"])
    }
    #expect(history.changes(of: added[0]) == [.added, .paused, .cancelled])
    #expect(history.changes(of: added[1]) == [.added, .paused, .cancelled])
  }

  @Test func `After a pause and cancel in a suspended queue, the next one starts when it resumes`()
    async throws
  {
    try await QueueFixture.with([.held("a"), .plain("b")]) { queue in
      let added = try await queue.add("a")
      try await queue.hold(added[0])
      await queue.manager.suspend()
      let b = try #require(try await queue.add("b").first)
      try await added[0].pause()
      try await added[0].cancel()
      #expect(await queue.states == [.cancelled, .queued])
      await queue.manager.unsuspend()
      _ = try await b.result
      #expect(await queue.states == [.cancelled, .completed])
    }
  }

  @Test func `Running, queued and paused transfers are cancelled at once`() async throws {
    var added: [Transfer] = []
    let names: [FaultScript.Resource] = [.plain("0"), .held("a"), .held("b"), .plain("c")]
    let history = try await QueueFixture.with(names) { queue in
      let done = try await queue.add("0")
      _ = try await done[0].result
      added = try await queue.add("a", "b", "c")
      try await queue.hold(added[0])
      try await added[0].pause()
      try await queue.hold(added[1])
      #expect(await queue.states == [.completed, .paused, .running, .queued])
      let report = try await queue.manager.cancel(.all)
      #expect(report.refused == [done[0].id: .isCompleted])
      #expect(await queue.states == [.completed, .cancelled, .cancelled, .cancelled])
      await queue.manager.waitUntilEmpty()
      #expect(try queue.base.names() == ["0"])
      #expect(queue.asked == ["0", "a", "b"])
      for transfer in added { #expect(await code(transfer) == .cancelled) }
    }
    #expect(history.changes(of: added[0]) == [.added, .paused, .cancelled])
    #expect(history.changes(of: added[1]) == [.added, .cancelled])
    #expect(history.changes(of: added[2]) == [.added, .cancelled])
  }
}
