import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Many transfers at once, as a group and as a queue.
@Suite(.timeLimit(.minutes(10))) struct GroupTests {
  private func requests(
    _ queue: QueueFixture, _ names: [String], group: String
  ) throws -> [TransferRequest] {
    try names.map { name in
      var request = try queue.request(name)
      request.group = group
      return request
    }
  }

  @Test func `Many transfers run at once, and each end is reported`() async throws {
    let good = (1...11).map { "f\($0)" }
    let resources = good.map { FaultScript.Resource.held($0) } + [.broken("bad")]
    var added: [Transfer] = []
    let history = try await QueueFixture.with(resources, active: 12) { queue in
      added = try await queue.manager.add((good + ["bad"]).map { try queue.request($0) })
      // All of them at the same time.
      for transfer in added.dropLast() { try await queue.hold(transfer) }
      let outcomes: [TransferID: TransferError.Code] = await withTaskGroup(
        of: (TransferID, TransferError.Code?).self
      ) { group in
        for transfer in added { group.addTask { (transfer.id, await code(transfer)) } }
        for transfer in added.dropLast() { queue.release(transfer) }
        return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
      }
      #expect(outcomes == [added[11].id: .connectionLost])
      for transfer in added.dropLast() { try queue.expectWhole(transfer) }
    }
    for transfer in added {
      #expect(history.results(of: transfer).count == 1)
      #expect(history.changes(of: transfer).last == (transfer == added[11] ? .failed : .completed))
    }
  }

  @MainActor
  @Test func `A group reports once that all members have ended, with each outcome`() async throws {
    let names: [FaultScript.Resource] = [.plain("a"), .broken("b"), .held("c"), .held("other")]
    try await QueueFixture.with(names, active: 2) { queue in
      let group = queue.manager.group("pictures")
      #expect(await group.counts.members == 0)
      let others = try await queue.add("other")
      try await queue.hold(others[0])
      let added = try await queue.manager.add(
        try requests(queue, ["a", "b", "c"], group: "pictures"))
      try await queue.hold(added[2])
      let counts = await group.counts
      #expect((counts.members, counts.completed, counts.failed, counts.cancelled) == (3, 1, 1, 0))
      let counter = CompletionCounter()
      async let first = counter.note(try await group.completion())
      async let second = counter.note(try await group.completion())
      #expect(await queue.manager.counts[.running] == 2)
      #expect(counter.count == 0)
      try await added[2].cancel()
      let outcomes = try await first
      MainActor.assertIsolated()
      #expect(try await second == outcomes)
      #expect(
        outcomes.mapValues(\.state) == [
          added[0].id: .completed, added[1].id: .failed, added[2].id: .cancelled,
        ])
      #expect(outcomes[added[1].id]?.error?.code == .connectionLost)
      // A late caller gets it at once. The other group's member still runs.
      #expect(try await group.completion() == outcomes)
      #expect(await others[0].summary?.state == .running)
    }
  }

  /// Counts completions on the main actor.
  @MainActor private final class CompletionCounter {
    var count = 0

    func note(
      _ outcomes: [TransferID: TransferResult]
    ) -> [TransferID: TransferResult] {
      count += 1
      return outcomes
    }
  }

  @Test func `Adding or retrying a member reopens the group`() async throws {
    try await QueueFixture.with([.broken("a"), .held("b")]) { queue in
      let group = queue.manager.group("g")
      let a = try await queue.manager.add(try requests(queue, ["a"], group: "g"))[0]
      #expect(try await group.completion().count == 1)
      let b = try await queue.manager.add(try requests(queue, ["b"], group: "g"))[0]
      try await queue.hold(b)
      #expect(await group.counts.ended == 1)
      queue.server.setFaults("/a", [])
      async let end = group.completion()
      try await a.retry()
      #expect(await group.counts.ended == 0)
      queue.release(b)
      #expect(try await end.mapValues(\.state) == [a.id: .completed, b.id: .completed])
    }
  }

  @Test func `The event of the end that completes a group says how its members ended`()
    async throws
  {
    try await QueueFixture.with([.broken("a"), .plain("b"), .plain("c")]) { queue in
      let events = queue.manager.events()
      let group = queue.manager.group("g")
      let a = try await queue.manager.add(try requests(queue, ["a", "b"], group: "g"))[0]
      _ = try await group.completion()
      queue.server.setFaults("/a", [])
      try await a.retry()
      _ = try await group.completion()
      _ = try await queue.add("c")
      await queue.manager.waitUntilEmpty()
      await queue.manager.shutdown()
      var ends: [GroupEnd?] = []
      for await event in events {
        if case .finished = event.kind { ends.append(event.groupEnd) }
      }
      #expect(
        ends == [
          nil, GroupEnd(name: "g", completed: 1, failed: 1), GroupEnd(name: "g", completed: 2), nil,
        ])
    }
  }

  @Test func `The queue reports when it is empty, and counts its states`() async throws {
    try await QueueFixture.with([.held("a"), .held("b"), .plain("c"), .plain("d")]) { queue in
      let manager = queue.manager
      // Empty from the beginning, so it returns at once.
      await manager.waitUntilEmpty()
      let added = try await queue.add("a", "b", "c", "d")
      let empty = Task {
        await manager.waitUntilEmpty()
        return await manager.counts
      }
      try await queue.hold(added[0])
      #expect(await manager.counts == [.running: 1, .queued: 3])
      try await added[0].cancel()
      try await queue.hold(added[1])
      #expect(await manager.counts == [.cancelled: 1, .running: 1, .queued: 2])
      queue.release(added[1])
      #expect(await empty.value == [.cancelled: 1, .completed: 3])
      #expect(queue.asked == ["a", "b", "c", "d"])
    }
  }

  @Test func `A transfer cancelled before its start never starts, and counts as ended`()
    async throws
  {
    var added: [Transfer] = []
    let history = try await QueueFixture.with([.held("a"), .plain("b")]) { queue in
      added = try await queue.manager.add(try requests(queue, ["a", "b"], group: "g"))
      async let outcomes = queue.manager.group("g").completion()
      async let empty: Void = queue.manager.waitUntilEmpty()
      try await queue.hold(added[0])
      try await added[1].cancel()
      #expect(await code(added[1]) == .cancelled)
      #expect(await queue.manager.group("g").counts.ended == 1)
      queue.release(added[0])
      #expect(
        try await outcomes.mapValues(\.state)
          == [added[0].id: .completed, added[1].id: .cancelled])
      await empty
      #expect(queue.asked == ["a"])
      #expect(try queue.base.names() == ["a"])
    }
    #expect(history.changes(of: added[1]) == [.added, .cancelled])
    #expect(history.starts(of: added[1]) == 0)
  }

  @Test func `Cancelling all members before their start ends the group and empties the queue`()
    async throws
  {
    try await QueueFixture.with([.plain("a"), .plain("b")]) { queue in
      await queue.manager.suspend()
      let added = try await queue.manager.add(try requests(queue, ["a", "b"], group: "g"))
      _ = try await queue.manager.cancel(queue.manager.group("g").selection)
      let outcomes = try await queue.manager.group("g").completion()
      #expect(outcomes.count == 2 && outcomes.values.allSatisfy { $0.state == .cancelled })
      await queue.manager.waitUntilEmpty()
      await queue.manager.unsuspend()
      #expect(await queue.states == [.cancelled, .cancelled])
      #expect(await added[0].summary?.state == .cancelled)
      #expect(queue.asked.isEmpty)
    }
  }

  @Test func `Group progress sums its downloads without the failed ones`() async throws {
    let names: [FaultScript.Resource] = [.plain("a"), .broken("b"), .held("c")]
    try await QueueFixture.with(names, active: 3) { queue in
      let group = queue.manager.group("pictures")
      #expect(try await group.progress.bytes == 0)
      let added = try await queue.manager.add(
        try requests(queue, ["a", "b", "c"], group: "pictures"))
      _ = await (outcome(added[0]), outcome(added[1]))
      try await queue.hold(added[2])
      let midway = try await group.progress
      let length = Int64(QueueFixture.length)
      #expect(midway.total == 2 * length)
      #expect((length..<2 * length).contains(midway.bytes))
      #expect(midway.connections == 1)
      queue.release(added[2])
      _ = try await added[2].result
      #expect(try await group.progress.fraction == 1)
    }
  }

  @Test func `A command to a group applies to all its members`() async throws {
    try await StepFixture.with(active: 2) { fixture in
      let group = fixture.manager.group("g")
      let requests = (0..<3).map { number in
        var request = TransferRequest.step("spin", input: "\(number)")
        request.group = "g"
        return request
      }
      try await fixture.manager.add(requests + [.step("gate", input: "other")])
      func states() async -> [TransferState] { await fixture.manager.summaries().map(\.state) }
      await fixture.gate.waitForArrivals(2)
      _ = try await group.pause()
      await fixture.gate.waitForArrivals(3)
      #expect(await states() == [.paused, .paused, .paused, .running])
      _ = try await group.resume()
      await fixture.gate.waitForArrivals(4)
      _ = try await group.requeue()
      #expect(try await group.start().refused.isEmpty)
      #expect(try await group.cancel().refused.isEmpty)
      #expect(await states() == [.cancelled, .cancelled, .cancelled, .running])
      #expect(try await group.cancel(keepingBytes: true).refused.isEmpty)
      _ = try await group.retry()
      _ = try await group.restart()
      #expect(await group.counts.ended == 0)
      _ = try await group.remove()
      #expect(await states() == [.running])
    }
  }

  @Test func `A group can be moved, prioritised and changed as one`() async throws {
    try await StepFixture.with { fixture in
      let manager = fixture.manager
      await manager.suspend()
      let requests = (0..<5).map { number in
        var request = TransferRequest.step("pass")
        request.group = number % 2 == 1 ? "odd" : nil
        return request
      }
      let ids = try await manager.add(requests).map(\.id)
      let odd = manager.group("odd")
      _ = try await odd.move(to: .first)
      #expect(await manager.summaries().map(\.id) == [ids[1], ids[3], ids[0], ids[2], ids[4]])
      _ = try await manager.move(.group("odd"), to: .after(ids[0]))
      #expect(await manager.summaries().map(\.id) == [ids[0], ids[1], ids[3], ids[2], ids[4]])
      _ = try await odd.setPriority(.background)
      #expect(await manager.summaries(of: odd.selection).allSatisfy { $0.priority == .background })
      #expect(try await odd.set { $0.priority = .userInitiated }.refused.isEmpty)
      #expect(
        await manager.summaries().map { $0.priority == .userInitiated }
          == [false, true, true, false, false])
    }
  }
}
