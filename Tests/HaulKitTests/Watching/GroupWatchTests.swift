import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Watching the members of one group, and the end of all.
@Suite(.timeLimit(.minutes(10))) struct GroupWatchTests {
  private func step(_ name: String, in group: String?) -> TransferRequest {
    var request = TransferRequest.step(name)
    request.group = group
    return request
  }

  @Test @MainActor func `A list of a group has its members only, also those that join and leave`()
    async throws
  {
    try await StepFixture.with { fixture in
      let manager = fixture.manager
      let early = try await manager.add([step("spin", in: "g"), step("spin", in: "h")])
      let list = TransferList(manager, group: "g")
      try await until { list.rows.map(\.id) == [early[0].id] }
      let late = try await manager.add([
        step("spin", in: nil), step("spin", in: "g"), step("spin", in: "h"),
      ])
      try await until { list.rows.map(\.id) == [early[0].id, late[1].id] }
      try await late[2].set { $0.group = "g" }
      try await early[0].set { $0.group = nil }
      try await until { list.rows.map(\.id) == [late[1].id, late[2].id] }
      try await late[2].move(to: .first)
      try await until { list.rows.map(\.id) == [late[2].id, late[1].id] }
      try await late[1].remove()
      try await until { list.rows.map(\.id) == [late[2].id] }
      try await manager.cancelAll()
      try await until { list.rows.map(\.state) == [.cancelled] }
    }
  }

  @Test func `The events of a group are those of its members`() async throws {
    try await StepFixture.with { fixture in
      let manager = fixture.manager
      let events = manager.group("g").events()
      let ended = NIOLockedValueBox<[TransferID: TransferResult]>([:])
      _ = try await manager.add([step("pass", in: nil), step("pass", in: "h")])
      let own = try await manager.add([step("pass", in: "g"), step("pass", in: "g")])
      let task = manager.group("g").onEnd { results in ended.withLockedValue { $0 = results } }
      await task.value
      #expect(Set(ended.withLockedValue { $0.keys }) == Set(own.map(\.id)))
      await manager.waitUntilEmpty()
      var (seen, ends): (Set<TransferID>, Int) = ([], 0)
      for await event in events {
        #expect(event.group == "g")
        seen.insert(event.id)
        if case .finished = event.kind { ends += 1 }
        if ends == 2 { break }
      }
      #expect(seen == Set(own.map(\.id)))
    }
  }

  @Test func `A closure runs once when the list is empty, and not after a shutdown`() async throws {
    try await StepFixture.with { fixture in
      let manager = fixture.manager
      let calls = NIOLockedValueBox(0)
      _ = try await manager.add(step("gate", in: nil))
      let first = manager.onEmpty { calls.withLockedValue { $0 += 1 } }
      let cancelled = manager.onEmpty { calls.withLockedValue { $0 += 10 } }
      cancelled.cancel()
      await cancelled.value
      #expect(calls.withLockedValue { $0 } == 0)
      fixture.gate.open()
      await first.value
      #expect(calls.withLockedValue { $0 } == 1)
      _ = try await manager.add(step("spin", in: nil))
      let late = manager.onEmpty { calls.withLockedValue { $0 += 100 } }
      await manager.shutdown()
      await late.value
      #expect(calls.withLockedValue { $0 } == 1)
    }
  }

  @Test func `A group has a percent without lengths`() async throws {
    try await StepFixture.with { fixture in
      let (manager, group) = (fixture.manager, fixture.manager.group("g"))
      #expect(await group.percent == nil)
      await manager.suspend()
      let added = try await manager.add((0..<4).map { _ in step("pass", in: "g") })
      #expect(await group.percent == 0)
      try await added[0].cancel()
      #expect(await group.percent == 25)
      await manager.unsuspend()
      await manager.waitUntilEmpty()
      #expect(await group.percent == 100)
    }
  }
}
