import HaulCore
import HaulKit
import HaulTesting
import Testing

/// A subscriber that follows one transfer.
@Suite(.timeLimit(.minutes(10))) struct OneTransferTests {
  private func kinds(_ events: TransferEvents) async -> [TransferEvent.Kind] {
    var reported: [TransferEvent.Kind] = []
    for await event in events { reported.append(event.kind) }
    return reported
  }

  @Test func `The events of a transfer begin with a snapshot and end with its end`() async throws {
    try await QueueFixture.with([.held("a"), .held("b")], active: 2) { queue in
      let added = try await queue.add("a", "b")
      for transfer in added { try await queue.hold(transfer) }
      let events = added[0].events()
      let reader = Task {
        var reported: [TransferEvent] = []
        for await event in events { reported.append(event) }
        return reported
      }
      try await added[0].pause()
      queue.release(added[0])
      try await added[0].resume()
      _ = try await added[0].result
      let reported = await reader.value
      #expect(reported.allSatisfy { $0.id == added[0].id })
      guard case .snapshot(let snapshot) = reported.first?.kind,
        case .finished(let result) = reported.last?.kind
      else {
        Issue.record("\(reported)")
        return
      }
      #expect([.running, .stopping, .paused].contains(snapshot.state))
      #expect((snapshot.progress?.bytes ?? 0) > 0 && snapshot.result == nil)
      #expect(result.state == .completed)
      #expect(reported.filter { if case .finished = $0.kind { true } else { false } }.count == 1)
    }
  }

  @Test func `A late subscriber gets only the snapshot and the end`() async throws {
    try await QueueFixture.with([.plain("a"), .broken("b"), .held("c")]) { queue in
      let added = try await queue.add("a", "b", "c")
      _ = try await added[0].result
      try await queue.hold(added[2])
      try await added[2].cancel()
      let states: [TransferState] = [.completed, .failed, .cancelled]
      for (transfer, state) in zip(added, states) {
        for _ in 1...2 {
          let reported = await kinds(transfer.events())
          guard reported.count == 2, case .snapshot(let snapshot) = reported[0],
            case .finished(let result) = reported[1]
          else {
            Issue.record("\(reported)")
            continue
          }
          #expect(snapshot.state == state && snapshot.result == result)
          #expect(result.state.rawValue == state.rawValue)
        }
      }
      #expect(await kinds(added[0].events()).count == 2)
    }
  }

  @Test func `An unknown transfer has no events, and a removal ends the stream`() async throws {
    try await StepFixture.with(active: 1) { fixture in
      let added = try await fixture.manager.add((0..<3).map { .step("gate", input: "\($0)") })
      await fixture.gate.waitForArrivals(1)
      var reader = added[1].events().makeAsyncIterator()
      guard case .snapshot(let snapshot) = await reader.next()?.kind else {
        Issue.record("no snapshot")
        return
      }
      #expect(snapshot.state == .queued)
      try await added[1].remove()
      guard case .finished(let result) = await reader.next()?.kind else {
        Issue.record("no end")
        return
      }
      #expect(result.state == .cancelled)
      #expect(await reader.next() == nil)
      #expect(await kinds(added[1].events()).isEmpty)
      // One that ends and is removed before its events are read.
      let late = added[2].events()
      try await added[2].cancel()
      try await added[2].remove()
      let reported = await kinds(late)
      guard reported.count == 2, case .snapshot(let before) = reported[0],
        case .finished(let end) = reported[1]
      else {
        Issue.record("\(reported)")
        return
      }
      #expect(before.state == .queued && end.state == .cancelled)
    }
  }

  @Test func `Unread events of a transfer are bounded, and replaced by a new snapshot`()
    async throws
  {
    try await StepFixture.with(active: 1) { fixture in
      await fixture.manager.suspend()
      let transfer = try await fixture.manager.add(.step("pass"))
      let events = transfer.events()
      var reader = events.makeAsyncIterator()
      guard case .snapshot(let first) = await reader.next()?.kind else {
        Issue.record("no snapshot")
        return
      }
      #expect(first.state == .queued)
      for _ in 1...200 {
        try await transfer.pause()
        try await transfer.resume()
      }
      #expect(fixture.manager.coordinator.bufferedEvents <= 64)
      try await transfer.pause()
      guard case .snapshot(let second) = await reader.next()?.kind else {
        Issue.record("no second snapshot")
        return
      }
      #expect(second.state == .paused)
      try await transfer.resume()
      #expect(await reader.next()?.kind == .resumed(by: .user))
      await fixture.manager.unsuspend()
      var last: TransferEvent?
      while let event = await reader.next() { last = event }
      guard case .finished = last?.kind else {
        Issue.record("\(String(describing: last))")
        return
      }
    }
  }

  @Test func `Thousands of subscribers each get only the events of their transfer`() async throws {
    try await StepFixture.with(active: 4) { fixture in
      let added = try await fixture.manager.add((0..<2000).map { .step("gate", input: "\($0)") })
      let ends = await withTaskGroup(of: Bool.self) { group in
        for transfer in added {
          group.addTask {
            var reported: [TransferEvent] = []
            for await event in transfer.events() { reported.append(event) }
            guard case .snapshot = reported.first?.kind, case .finished = reported.last?.kind else {
              return false
            }
            return reported.allSatisfy { $0.id == transfer.id }
          }
        }
        fixture.gate.open()
        return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
      }
      #expect(ends == 2000)
    }
  }

  @Test func `The handle has the current snapshot at any moment`() async throws {
    try await QueueFixture.with([.held("a")]) { queue in
      let a = try await queue.add("a")[0]
      try await queue.hold(a)
      let running = try #require(await a.snapshot)
      #expect(running.state == .running && running.phase == .transferring)
      #expect(running.progress?.total == Int64(QueueFixture.length) && running.result == nil)
      #expect(await a.state == .running)
      #expect(a.progress?.total == Int64(QueueFixture.length))
      try await a.pause()
      let paused = try #require(await a.snapshot)
      #expect(paused.state == .paused && paused.progress?.bytes ?? 0 > 0)
      queue.release(a)
      try await a.resume()
      let result = try await a.result
      #expect(await a.snapshot?.result == result)
      #expect(await a.state == .completed)
      #expect(a.progress == nil)
      try await a.remove()
      #expect(await a.snapshot == nil)
    }
  }
}
