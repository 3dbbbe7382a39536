import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Commands to a transfer that waits for its next attempt after a lost connection.
@Suite(.timeLimit(.minutes(10))) struct CommandsDuringBackoffTests {
  /// The first waits for its next attempt, or for a slot for it; the second has the only slot.
  private func with(
    connections: Int, _ body: (QueueFixture, [Transfer]) async throws -> Void
  ) async throws {
    // After its first bytes it sends nothing more, over any number of connections.
    let first = Fault(.close(after: Int64(QueueFixture.stallOffset)), when: .init(times: 1))
    let a = FaultScript.Resource.plain("a").with {
      $0.faults = [first, Fault(.close(after: 0), when: .init(skip: 1))]
    }
    let names: [FaultScript.Resource] = [a, .held("b"), .plain("c")]
    try await QueueFixture.with(names, connections: connections) { queue in
      let added = try await queue.manager.add([
        queue.request("a") { $0.retry.retries = 100 }, queue.request("b"), queue.request("c"),
      ])
      try await queue.hold(added[1])
      #expect(queue.order == ["a", "b"])
      queue.server.setFaults("/a", [])
      try await body(queue, added)
    }
  }

  private func finish(_ queue: QueueFixture, _ added: [Transfer]) async throws {
    queue.release(added[1])
    await queue.manager.waitUntilEmpty()
    for transfer in added where await transfer.summary?.state == .completed {
      try queue.expectWhole(transfer)
    }
  }

  @Test(arguments: [1, 3])
  func `A paused transfer resumes from its bytes at its old position`(
    connections: Int
  ) async throws {
    try await with(connections: connections) { queue, added in
      try await added[0].pause()
      #expect(await queue.states == [.paused, .running, .queued])
      try await added[0].resume()
      #expect(await queue.states == [.queued, .running, .queued])
      try await finish(queue, added)
      #expect(queue.order == ["a", "b", "a", "c"])
      #expect(try await added[0].result.reused > 0)
      try await queue.log.wait {
        $0.changes(of: added[0]) == [.added, .paused, .resumed, .completed]
      }
    }
  }

  @Test func `A paused transfer stays paused when others end`() async throws {
    try await with(connections: 1) { queue, added in
      try await added[0].pause()
      try await finish(queue, added)
      #expect(await queue.states == [.paused, .completed, .completed])
      #expect(queue.order == ["a", "b", "c"])
    }
  }

  @Test(arguments: [1, 3], [true, false])
  func `A cancel ends it at once, and keeps its bytes only on request`(
    connections: Int, keepsBytes: Bool
  ) async throws {
    try await with(connections: connections) { queue, added in
      try await added[0].cancel(keepingBytes: keepsBytes)
      #expect(await queue.states == [.cancelled, .running, .queued])
      #expect(await code(added[0]) == .cancelled)
      try await queue.log.wait { $0.changes(of: added[0]) == [.added, .cancelled] }
      let left = try queue.base.names().filter { $0.hasPrefix("a") }
      #expect(left == (keepsBytes ? ["a.haul.journal", "a.haul.part"] : []))
      try await added[0].retry()
      try await finish(queue, added)
      #expect(queue.order == ["a", "b", "a", "c"])
      #expect(try await (added[0].result.reused > 0) == keepsBytes)
    }
  }

  @Test(arguments: [1, 3])
  func `A cancelled or removed transfer does not retry`(
    connections: Int
  ) async throws {
    try await with(connections: connections) { queue, added in
      try await added[0].pause()
      try await added[0].cancel()
      #expect(await queue.states == [.cancelled, .running, .queued])
      _ = try await queue.manager.cancel(.all)
      #expect(await queue.states == [.cancelled, .cancelled, .cancelled])
      #expect(try queue.base.names().isEmpty)
    }
    try await with(connections: connections) { queue, added in
      try await added[0].remove()
      #expect(await added[0].summary == nil)
      #expect(try !queue.base.names().contains { $0.hasPrefix("a") })
      try await finish(queue, added)
      #expect(queue.order == ["a", "b", "c"])
    }
  }

  @Test(arguments: [1, 3], [true, false])
  func `A requeued transfer keeps its bytes and position, and a restarted one loses its bytes`(
    connections: Int, isRestart: Bool
  ) async throws {
    try await with(connections: connections) { queue, added in
      if isRestart { try await added[0].restart() } else { try await added[0].requeue() }
      #expect(queue.order == ["a", "b"])
      // It gets its position again once it has stopped.
      try await until { await queue.states[0] == .queued }
      try await finish(queue, added)
      #expect(queue.order == ["a", "b", "a", "c"])
      let result = try await added[0].result
      #expect((result.reused == 0) == isRestart, "\(result)")
    }
  }

  @Test func `A transfer moved to the end makes its next attempt after all others`() async throws {
    try await with(connections: 1) { queue, added in
      _ = try await queue.manager.move([added[0].id], to: .last)
      try await added[0].pause()
      try await added[0].resume()
      try await finish(queue, added)
      #expect(queue.order == ["a", "b", "c", "a"])
      #expect(try await added[0].result.reused > 0)
    }
  }
}
