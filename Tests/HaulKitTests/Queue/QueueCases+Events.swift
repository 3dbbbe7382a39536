import FoundationEssentials
import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Hard cases of a queue: events, and stored data.
@Suite(.timeLimit(.minutes(10))) struct QueueEventCases {
  private static let disk = TransferError(.diskFull, "no space is left")

  @Test func `Every subscriber gets every state change once and in order, however slow it is`()
    async throws
  {
    let names = (0..<20).map { "f\($0)" }
    try await DownloadFixture.with(names.map { .plain($0) }) { fixture in
      var late: [TransferEvent] = []
      var slow: TransferEvents?
      let history = try await fixture.queue(active: 4) { queue in
        slow = queue.manager.events()
        _ = try await queue.manager.add(names.map { try queue.request($0) })
        await queue.manager.waitUntilEmpty()
      }
      // It did not read until now.
      if let slow { for await event in slow { late.append(event) } }
      history.expectSound()
      #expect(late.filter { $0.number != nil } == history.events.filter { $0.number != nil })
      #expect(late.compactMap(\.number) == Array(1...40))
    }
  }

  @Test func `The whole file is published when its completion is reported`() async throws {
    let names = (0..<10).map { "f\($0)" }
    try await DownloadFixture.with(names.map { .plain($0) }) { fixture in
      _ = try await fixture.queue(active: 3) { queue in
        let events = queue.manager.events()
        let added = try await queue.manager.add(names.map { try queue.request($0) })
        var completed = 0
        for await event in events {
          guard case .finished(let result) = event.kind else { continue }
          let transfer = try #require(added.first { $0.id == event.id })
          #expect(result.path == fixture.path(queue.name(transfer)))
          try queue.expectWhole(transfer)
          completed += 1
          if completed == names.count { break }
        }
      }
    }
  }

  @Test func `Progress never falls, even after the end of the program, except after a restart`()
    async throws
  {
    let store = MemoryStore()
    try await DownloadFixture.with([.held("a")]) { fixture in
      var added: Transfer?
      let before = try await fixture.queue(store: store) { queue in
        let a = try await queue.add("a")[0]
        added = a
        for round in 1...3 {
          try await queue.server.waitForRequests(round, path: "/a")
          try await queue.hold(a)
          try await a.pause()
          try await a.resume()
        }
        try await queue.server.waitForRequests(4, path: "/a")
        try await queue.hold(a)
      }
      before.expectSound()
      let a = try #require(added)
      let after = try await fixture.queue(store: store) { queue in
        // Running transfers continue by themselves.
        try await queue.server.waitUntil { server in
          server.requestCount("/a") > 4 && server.inProgress("/a") == 1 && server.held("/a") == 1
        }
        try await queue.log.wait { !$0.bytes(of: a).isEmpty }
        queue.server.release("/a")
        let again = try #require(try await queue.manager.transfer(a.id))
        _ = try await again.result
        try await again.restart()
        // Midway, so that progress is reported.
        try await queue.server.waitForHeld("/a")
        try await queue.log.wait { Self.afterRestart($0.kinds(of: a)).contains { $0 > 0 } }
        queue.release(a)
        _ = try await again.result
        try queue.expectWhole(a)
      }
      after.expectSound()
      let kinds = after.kinds(of: a)
      let anew = Self.afterRestart(kinds)
      let first = before.bytes(of: a) + after.bytes(of: a).dropLast(anew.count)
      #expect(first == first.sorted() && first.last == Int64(QueueFixture.length), "\(first)")
      #expect(anew == anew.sorted() && anew.last == Int64(QueueFixture.length), "\(anew)")
      let begins = try #require(anew.first)
      #expect(begins <= Int64(QueueFixture.stallOffset), "\(anew)")
    }
  }

  /// The reported bytes since it was requeued.
  private static func afterRestart(_ kinds: [TransferEvent.Kind]) -> [Int64] {
    guard let start = kinds.firstIndex(of: .resumed(by: .user)) else { return [] }
    return kinds[start...].compactMap { $0.progress?.bytes }
  }

  @Test func `A batch is added completely or not at all, and its key finds it again`() async throws
  {
    let store = ReplayStore()
    try await DownloadFixture.with([.plain("a"), .plain("b")]) { fixture in
      var ids: [TransferID] = []
      let history = try await fixture.queue(store: store) { queue in
        let requests = try ["a", "b"].map { try queue.request($0) }
        store.refuse(Self.disk)
        let error = await #expect(throws: TransferError.self) {
          try await queue.manager.add(requests, key: "k")
        }
        #expect(error?.code == .diskFull)
        #expect(await queue.manager.counts.isEmpty)
        store.refuse(nil)
        ids = try await queue.manager.add(requests, key: "k").map(\.id)
        #expect(try await queue.manager.add(requests, key: "k").map(\.id) == ids)
        #expect(store.count >= 1)
        await queue.manager.waitUntilEmpty()
        #expect(queue.asked == ["a", "b"])
      }
      history.expectSound()
      // The client never got the result of the first call, because the process died right after the
      // commit.
      let dead = await store.afterCrash(1)
      _ = try await fixture.queue(store: dead) { queue in
        let requests = try ["a", "b"].map { try queue.request($0) }
        #expect(try await queue.manager.add(requests, key: "k").map(\.id) == ids)
        #expect(await queue.manager.summaries().map(\.id) == ids)
        await queue.manager.waitUntilEmpty()
        #expect(await queue.states == [.completed, .completed])
      }
    }
  }

  @Test func `A command that cannot be stored has no effect once the store works again`()
    async throws
  {
    let store = ReplayStore()
    try await DownloadFixture.with([.held("a")]) { fixture in
      _ = try await fixture.queue(store: store) { queue in
        let a = try await queue.add("a")[0]
        try await queue.hold(a)
        store.refuse(Self.disk, reading: true)
        await #expect(throws: TransferError.self) { try await a.requeue() }
        store.refuse(nil)
        // The server still holds it: it stops because of the command.
        try await a.pause()
        #expect(await queue.states == [.paused])
      }
    }
  }

  @Test func `A command that cannot be stored throws and changes nothing`() async throws {
    let store = ReplayStore()
    try await DownloadFixture.with([.held("a"), .plain("b")]) { fixture in
      var added: [Transfer] = []
      let history = try await fixture.queue(store: store) { queue in
        added = try await queue.add("a", "b")
        try await queue.hold(added[0])
        store.refuse(Self.disk)
        for command in [added[0].pause, added[1].pause] {
          let error = await #expect(throws: TransferError.self) { _ = try await command() }
          #expect(error?.code == .diskFull)
        }
        await #expect(throws: TransferError.self) { _ = try await added[0].cancel() }
        await #expect(throws: TransferError.self) { _ = try await added[1].remove() }
        #expect(await queue.states == [.running, .queued])
        store.refuse(nil)
        queue.release(added[0])
        await queue.manager.waitUntilEmpty()
        #expect(await queue.states == [.completed, .completed])
      }
      history.expectSound()
      for transfer in added { #expect(history.changes(of: transfer) == [.added, .completed]) }
    }
  }

  @Test
  func `After a crash at any stored change nothing is lost, and paused transfers stay paused`()
    async throws
  {
    let store = ReplayStore()
    let names = ["a", "b", "c", "d"]
    try await DownloadFixture.with(names.map { .held($0) }) { fixture in
      var added: [Transfer] = []
      _ = try await fixture.queue(store: store) { queue in
        added = try await queue.add("a", "b", "c", "d")
        try await queue.hold(added[0])
        try await added[0].pause()
        try await queue.hold(added[1])
        try await added[1].cancel(keepingBytes: true)
        try await queue.hold(added[2])
        queue.server.setFaults("/a", [])
        try await added[0].resume()
        try await added[3].pause()
        try await added[2].requeue()
        queue.release(added[2])
        await queue.manager.waitUntilEmpty()
        try await added[3].remove()
      }
      for name in names { fixture.server.setFaults("/\(name)", []) }
      #expect(store.count > 10)
      for count in 1...store.count {
        for name in try fixture.names() {
          try FileManager.default.removeItem(atPath: fixture.path(name))
        }
        try await expectRecovery(of: store.afterCrash(count), fixture, added, "after \(count)")
      }
    }
  }

  private func expectRecovery(
    of dead: MemoryStore, _ fixture: DownloadFixture, _ added: [Transfer], _ moment: Comment
  ) async throws {
    let before = try await dead.open().members
    let last = try await dead.open().lastEvent
    let history = try await fixture.queue(store: dead) { queue in
      await queue.manager.waitUntilEmpty()
      let after = await queue.manager.summaries()
      let listed = before.filter { $0.storedState.desired != .removed }.map(\.id)
      #expect(after.map(\.id) == listed, moment)
      for (member, summary) in zip(before.filter { listed.contains($0.id) }, after) {
        let expected: TransferState =
          switch (member.storedState.desired, member.storedState.status) {
          case (.paused, _): .paused
          case (.cancelled, _), (.cancelledKeepingBytes, _): .cancelled
          case (_, .completed): .completed
          case (_, .failed): .failed
          default: .completed
          }
        #expect(summary.state == expected, moment)
      }
      let live = await queue.manager.summaries().map(\.id)
      #expect(Set(live).isSubset(of: added.map(\.id)), moment)
    }
    history.expectSound()
    #expect(history.events.compactMap(\.number).first ?? last + 1 == last + 1, moment)
  }
}
