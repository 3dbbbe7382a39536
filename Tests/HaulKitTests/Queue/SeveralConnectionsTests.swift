import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Transfers with several connections each.
@Suite(.timeLimit(.minutes(10))) struct SeveralConnectionsTests {
  private static let names: [FaultScript.Resource] = [.held("a"), .held("b"), .plain("c")]

  private func with(
    _ resources: [FaultScript.Resource] = Self.names,
    _ body: (QueueFixture, [Transfer]) async throws -> Void
  ) async throws {
    try await QueueFixture.with(resources, connections: 3) { queue in
      let added = try await queue.add("a", "b", "c")
      try await body(queue, added)
      for transfer in added where await transfer.summary?.state == .completed {
        try queue.expectWhole(transfer)
      }
    }
  }

  @Test func `A pause starts the next transfer, and a resumed one waits for the slot`() async throws
  {
    try await with { queue, added in
      try await queue.hold(added[0])
      try await added[0].pause()
      #expect(queue.server.snapshot.inProgress("/a") == 0)
      try await queue.hold(added[1])
      queue.server.setFaults("/a", [])
      try await added[0].resume()
      #expect(await queue.states == [.queued, .running, .queued])
      #expect(queue.order == ["a", "b"])
      queue.release(added[1])
      #expect(try await added[0].result.reused > 0)
      await queue.manager.waitUntilEmpty()
      #expect(queue.order == ["a", "b", "a", "c"])
      #expect(await queue.states == [.completed, .completed, .completed])
    }
  }

  @Test(arguments: [true, false])
  func `A cancelled transfer ends as cancelled, and the next one starts`(
    keepsBytes: Bool
  ) async throws {
    try await with { queue, added in
      try await queue.hold(added[0])
      try await added[0].cancel(keepingBytes: keepsBytes)
      #expect(queue.server.snapshot.inProgress("/a") == 0)
      try await queue.hold(added[1])
      #expect(await code(added[0]) == .cancelled)
      try await queue.log.wait { $0.changes(of: added[0]) == [.added, .cancelled] }
      let left = try queue.base.names().filter { $0.hasPrefix("a") }
      #expect(left == (keepsBytes ? ["a.haul.journal", "a.haul.part"] : []))
      queue.server.setFaults("/a", [])
      try await added[0].retry()
      queue.release(added[1])
      #expect(try await (added[0].result.reused > 0) == keepsBytes)
      await queue.manager.waitUntilEmpty()
      #expect(queue.order == ["a", "b", "a", "c"])
    }
  }

  @Test func `Cancelling paused transfers or all of them leaves nothing behind`() async throws {
    try await with { queue, added in
      try await queue.hold(added[0])
      try await added[0].pause()
      try await queue.hold(added[1])
      try await added[0].cancel()
      #expect(await queue.states == [.cancelled, .running, .queued])
      try await queue.log.wait { $0.changes(of: added[0]) == [.added, .paused, .cancelled] }
      _ = try await queue.manager.cancel(.all)
      #expect(await queue.states == [.cancelled, .cancelled, .cancelled])
      #expect(queue.order == ["a", "b"])
      #expect(try queue.base.names().isEmpty)
    }
  }

  @Test func `A failed transfer lets the next one start, and a retry resumes at its old position`()
    async throws
  {
    try await with([.broken("a"), .held("b"), .plain("c")]) { queue, added in
      #expect(await code(added[0]) == .connectionLost)
      try await queue.hold(added[1])
      #expect(await queue.states == [.failed, .running, .queued])
      queue.server.setFaults("/a", [])
      try await added[0].retry()
      queue.release(added[1])
      await queue.manager.waitUntilEmpty()
      #expect(queue.order == ["a", "b", "a", "c"])
      #expect(try await added[0].result.reused > 0)
    }
  }

  @Test(arguments: [true, false])
  func `A requeued transfer keeps its position and bytes, and a restarted one loses its bytes`(
    isRestart: Bool
  ) async throws {
    try await with { queue, added in
      try await queue.hold(added[0])
      queue.server.setFaults("/a", [])
      if isRestart { try await added[0].restart() } else { try await added[0].requeue() }
      queue.server.setFaults("/b", [])
      let result = try await added[0].result
      #expect((result.reused == 0) == isRestart, "\(result)")
      await queue.manager.waitUntilEmpty()
      #expect(queue.order == ["a", "b", "c"])
      try await queue.log.wait { $0.results(of: added[0]).count == 1 }
    }
  }
}
