import FoundationEssentials
import HaulCore
import HaulKit
import HaulTesting
import Testing

/// The process ends: records, files and live state.
@Suite(.timeLimit(.minutes(10))) struct RecoveryTests {
  private static let names: [FaultScript.Resource] = [
    .plain("done"), .broken("failed"), .held("cancelled"), .held("paused"), .held("running"),
    .plain("waiting"), .plain("parked"),
  ]

  /// One in each state, with the fifth running.
  private func prepare(_ queue: QueueFixture) async throws -> [Transfer] {
    let added = try await queue.add(
      "done", "failed", "cancelled", "paused", "running", "waiting", "parked")
    try await queue.hold(added[2])
    try await added[2].cancel()
    try await queue.hold(added[3])
    try await added[3].pause()
    try await queue.hold(added[4])
    try await added[6].pause()
    #expect(
      await queue.states
        == [.completed, .failed, .cancelled, .paused, .running, .queued, .paused])
    return added
  }

  @Test(arguments: StoreKind.allCases)
  func `All records survive the end of the program, in every state`(
    kind: StoreKind
  ) async throws {
    try await DownloadFixture.with(Self.names) { fixture in
      let stores = Stores(kind)
      defer { stores.remove() }
      var added: [Transfer] = []
      let before = try await fixture.queue(store: stores.open()) { queue in
        added = try await prepare(queue)
      }
      before.expectSound()
      #expect(before.results(of: added[4]).isEmpty)
      #expect(try fixture.names().contains("running.haul.part"))
      #expect(try !fixture.names().contains { $0.hasPrefix("waiting") })
      for name in ["failed", "paused", "running"] { fixture.server.setFaults("/\(name)", []) }
      try await fixture.server.waitUntil { $0.connectionsOpen == 0 }
      fixture.server.resetStatistics()
      let after = try await fixture.queue(store: stores.open()) { queue in
        let manager = queue.manager
        #expect(await manager.summaries().map(\.id) == added.map(\.id))
        await manager.waitUntilEmpty()
        #expect(
          await queue.states
            == [.completed, .failed, .cancelled, .paused, .completed, .completed, .paused])
        // Nothing else was started.
        #expect(queue.asked == ["running", "waiting"])
        #expect(queue.server.snapshot.requests.first?.range?.hasPrefix("bytes=0-") == false)
        _ = try await manager.resume(.ids([added[3].id, added[6].id]))
        _ = try await manager.retry(.ids([added[1].id]))
        await manager.waitUntilEmpty()
        for index in [0, 1, 3, 4, 5, 6] { try queue.expectWhole(added[index]) }
      }
      after.expectSound()
      #expect(fixture.server.snapshot.total.maximumInProgress == 1)
      let last = before.events.compactMap(\.number).last
      #expect(after.events.compactMap(\.number).first == last.map { $0 + 1 })
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `Two ends of the program in a row lose nothing`(kind: StoreKind) async throws {
    try await DownloadFixture.with(Self.names) { fixture in
      let stores = Stores(kind)
      defer { stores.remove() }
      var added: [Transfer] = []
      _ = try await fixture.queue(store: stores.open()) { added = try await prepare($0) }
      for _ in 1...2 {
        // The server holds the answer for the former manager until its connection is closed.
        try await fixture.server.waitUntil { $0.connectionsOpen == 0 }
        _ = try await fixture.queue(store: stores.open()) { queue in
          try await queue.server.waitForHeld("/running")
        }
      }
      try await fixture.server.waitUntil { $0.connectionsOpen == 0 }
      _ = try await fixture.queue(store: stores.open()) { queue in
        #expect(await queue.manager.summaries().map(\.id) == added.map(\.id))
        #expect(await queue.manager.counts[.paused] == 2)
        try await queue.server.waitForHeld("/running")
        queue.release(added[4])
        await queue.manager.waitUntilEmpty()
        try queue.expectWhole(added[4])
        try queue.expectWhole(added[5])
      }
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `The state is never derived from the files`(kind: StoreKind) async throws {
    try await DownloadFixture.with(Self.names) { fixture in
      let stores = Stores(kind)
      defer { stores.remove() }
      var added: [Transfer] = []
      _ = try await fixture.queue(store: stores.open()) { added = try await prepare($0) }
      // Files are removed, and others added.
      for name in try fixture.names() {
        try FileManager.default.removeItem(atPath: fixture.path(name))
      }
      try fixture.put([1, 2, 3], as: "cancelled.haul.part")
      fixture.server.setFaults("/paused", [])
      fixture.server.setFaults("/running", [])
      try await fixture.server.waitUntil { $0.connectionsOpen == 0 }
      fixture.server.resetStatistics()
      _ = try await fixture.queue(store: stores.open()) { queue in
        await queue.manager.waitUntilEmpty()
        #expect(
          await queue.states
            == [.completed, .failed, .cancelled, .paused, .completed, .completed, .paused])
        #expect(queue.asked == ["running", "waiting"])
        #expect(try await queue.manager.resume(.ids([added[3].id])).refused.isEmpty)
        await queue.manager.waitUntilEmpty()
        try queue.expectWhole(added[3])
      }
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `Stored and live states always agree`(kind: StoreKind) async throws {
    try await DownloadFixture.with(Self.names) { fixture in
      let stores = Stores(kind)
      defer { stores.remove() }
      let store = try await stores.open()
      _ = try await fixture.queue(store: store) { queue in
        func expectAgreement(_ step: String) async throws {
          let live = await queue.manager.summaries()
          let records = try await store.records(live.map(\.id))
          #expect(records.count == live.count)
          for (record, summary) in zip(records, live) {
            let stored = record.storedState.status.rawValue
            let expected = summary.state == .running ? "queued" : summary.state.rawValue
            #expect(stored == expected, "\(step), \(record.id)")
            #expect((record.result != nil) == summary.state.isEnded, "\(step), \(stored)")
          }
        }
        let added = try await prepare(queue)
        try await expectAgreement("prepared")
        try await added[4].requeue()
        try await queue.server.waitForRequests(2, path: "/running")
        try await queue.hold(added[4])
        try await expectAgreement("put back")
        _ = try await queue.manager.pause(.all)
        try await expectAgreement("paused")
        for name in ["failed", "cancelled", "paused", "running"] {
          queue.server.setFaults("/\(name)", [])
        }
        _ = try await queue.manager.retry(.all)
        await queue.manager.waitUntilEmpty()
        try await expectAgreement("retried")
        _ = try await queue.manager.resume(.all)
        await queue.manager.waitUntilEmpty()
        try await expectAgreement("resumed")
        #expect(await queue.manager.counts == [.completed: 7])
        _ = try await queue.manager.remove(.all)
        try await expectAgreement("removed")
        #expect(try await store.open().members.isEmpty)
      }
    }
  }
}
