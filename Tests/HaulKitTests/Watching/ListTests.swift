import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Observation
import Testing

/// The list for user interfaces.
@Suite(.timeLimit(.minutes(10))) @MainActor struct ListTests {
  @Test func `The rows of a list show the states of its transfers, without secrets`() async throws {
    let names: [FaultScript.Resource] = [.plain("a"), .broken("b"), .held("c"), .held("d")]
    try await QueueFixture.with(names, active: 1) { queue in
      let list = TransferList(queue.manager)
      #expect(list.rows.isEmpty)
      var requests = try ["a", "b", "c", "d"].map { try queue.request($0) }
      requests[0] = try queue.request("a") { request in
        request.url = try ResourceURL(
          queue.server.url("/a?key=canary-1").replacing("://", with: "://user:canary-2@"))
      }
      requests[3].group = "g"
      let added = try await queue.manager.add(requests)
      let (a, b, c, d) = (added[0].id, added[1].id, added[2].id, added[3].id)
      try await queue.hold(added[2])
      // The first update may be without received bytes.
      try await until { list[c]?.phase == .transferring && list[c]?.fraction ?? 0 > 0 }
      #expect(list.rows.map(\.id) == added.map(\.id))
      #expect(list.rows.map(\.name) == ["a", "b", "c", "d"])
      #expect(list.rows.map(\.state) == [.completed, .failed, .running, .queued])
      let rows = try await queue.manager.rows()
      #expect(rows.map(\.name) == list.rows.map(\.name))
      #expect(rows.map(\.address) == list.rows.map(\.address))
      #expect(rows.map(\.state) == list.rows.map(\.state))
      #expect(try await queue.manager.rows(of: .ids([c, a])).map(\.id) == [c, a])
      #expect(!"\(list.rows)".contains("canary"))
      #expect(list[a]?.address?.contains("key=***") == true)
      #expect(list[a]?.fraction == 1 && list[a]?.bytes == Int64(QueueFixture.length))
      #expect(list[a]?.path == queue.base.path("a"))
      #expect(list[b]?.error?.code == .connectionLost)
      #expect(list[c]?.total == Int64(QueueFixture.length))
      #expect(list[c]?.bytes ?? 0 > 0 && list[c]?.fraction ?? 1 < 1)
      #expect(list[d]?.group == "g" && list[d]?.fraction == nil)
      try await added[2].pause()
      try await queue.hold(added[3])
      try await until { list[c]?.state == .paused && list[d]?.state == .running }
      #expect(list[c]?.bytes ?? 0 > 0 && list[c]?.rate == 0 && list[c]?.phase == nil)
      try await added[0].remove()
      queue.server.setFaults("/b", [])
      try await added[1].retry()
      try await added[3].cancel()
      try await until { list[b]?.state == .completed && list[d]?.state == .cancelled }
      #expect(list[b]?.error == nil && list[a] == nil)
      #expect(list.rows.map(\.id) == [b, c, d])
      try await added[2].cancel()
    }
  }

  @Test func `The rows follow the order of the list, also after moves`() async throws {
    try await StepFixture.with { fixture in
      await fixture.manager.suspend()
      let list = TransferList(fixture.manager)
      let ids = try await fixture.manager.add((0..<5).map { _ in .step("pass") }).map(\.id)
      try await until { list.rows.map(\.id) == ids }
      _ = try await fixture.manager.move([ids[4], ids[0]], to: .before(ids[2]))
      let order = [ids[1], ids[4], ids[0], ids[2], ids[3]]
      #expect(await fixture.manager.summaries().map(\.id) == order)
      try await until { list.rows.map(\.id) == order }
      #expect(list[ids[4]]?.id == ids[4] && list[ids[3]]?.id == ids[3])
      let last = try await fixture.manager.add(.step("pass"))
      try await last.move(to: .first)
      try await until { list.rows.map(\.id) == [last.id] + order }
      // A late list gets the present order.
      let late = TransferList(fixture.manager)
      try await until { late.rows.map(\.id) == [last.id] + order }
    }
  }

  @Test func `A requeued transfer is shown as queued, with its wait reason`() async throws {
    try await QueueFixture.with([.held("a")]) { queue in
      let list = TransferList(queue.manager)
      let a = try await queue.add("a")[0]
      try await queue.hold(a)
      try await until { list[a.id]?.state == .running }
      await queue.manager.suspend()
      try await a.requeue()
      try await until { list[a.id]?.state == .queued }
      #expect(list[a.id]?.waitReason == .suspended)
      await queue.manager.unsuspend()
      try await queue.server.waitForRequests(2, path: "/a")
      try await until { list[a.id]?.state == .running }
      try await a.cancel()
    }
  }

  @Test func `The list updates at most once per tick, with all changes`() async throws {
    let clock = ManualClock()
    try await StepFixture.with(active: 4, clock: clock) { fixture in
      let list = TransferList(fixture.manager)
      try await until { list.updates == 1 && clock.sleeperCount > 0 }
      let events = fixture.manager.events()
      let added = try await fixture.run(200)
      let late = try await fixture.manager.add(.step("pass"))
      _ = try await late.result
      #expect(await stateChanges(402, of: events).count == 402)
      // No time has passed, so it has no update.
      #expect(list.updates == 1 && list.rows.isEmpty)
      try await until {
        if list.rows.isEmpty { clock.advance(by: .milliseconds(100)) }
        return list.updates == 2
      }
      #expect(list.rows.map(\.id) == added.map(\.id) + [late.id])
      #expect(list.rows.allSatisfy { $0.state == .completed })
      #expect(list.rows[0].name == "pass" && list.rows[0].address == nil)
      // If nothing happens, there are no updates, however long it takes.
      for _ in 1...20 {
        clock.advance(by: .seconds(1))
        await Task.yield()
      }
      #expect(list.updates == 2)
    }
  }

  @Test func `The list starts with the existing transfers, and ends with its manager`() async throws
  {
    var list: TransferList?
    try await StepFixture.with(kept: 8) { fixture in
      let added = try await fixture.run(1200)
      let shown = TransferList(fixture.manager)
      list = shown
      try await until { shown.rows.count == 1200 }
      #expect(shown.rows.map(\.id) == added.map(\.id))
      #expect(shown.rows.allSatisfy { $0.state == .completed && $0.name == "pass" })
      #expect(!shown.hasEnded)
      _ = try await fixture.manager.remove(.ids(added.prefix(1199).map(\.id)))
      try await until { shown.rows.count == 1 }
      #expect(shown[added[1199].id] == shown.rows[0])
    }
    let shown = try #require(list)
    try await until { shown.hasEnded }
    #expect(shown.rows.count == 1)
  }

  @Test func `A view of the list is notified of changes`() async throws {
    try await StepFixture.with { fixture in
      let list = TransferList(fixture.manager)
      let changes = NIOLockedValueBox(0)
      withObservationTracking {
        _ = list.rows
      } onChange: {
        changes.withLockedValue { $0 += 1 }
      }
      try await fixture.run(1)
      try await until { list.rows.first?.state == .completed }
      #expect(changes.withLockedValue { $0 } == 1)
    }
  }
}
