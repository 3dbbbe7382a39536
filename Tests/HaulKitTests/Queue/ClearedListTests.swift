import HaulCore
import HaulKit
import HaulStore
import HaulTesting
import Testing

/// What is cleared from a stored list, and what is found in it, while nothing runs.
@Suite(.timeLimit(.minutes(10))) struct ClearedListTests {
  private func withList(
    _ body: (TransferManager, (_ name: String, _ group: String?) throws -> TransferRequest)
      async throws -> Void
  ) async throws {
    try await DownloadFixture.with([]) { fixture in
      var configuration = TransferManager.Configuration()
      configuration.isSuspended = true
      let manager = try await TransferManager(
        directory: fixture.path("queue"), configuration)
      do {
        try await body(manager) { name, group in
          var request = TransferRequest.download(
            try ResourceURL("http://h.invalid/\(name)?token=\(name)"),
            to: .directory(fixture.path("d")))
          request.group = group
          return request
        }
      } catch {
        await manager.shutdown()
        throw error
      }
      await manager.shutdown()
    }
  }

  @Test func `Only what has ended is removed, whatever was chosen`() async throws {
    try await withList { manager, request in
      let added = try await manager.add([request("a", nil), request("b", nil)])
      try await added[0].cancel()
      let report = try await manager.coordinator.removeEnded(added.map(\.id))
      #expect(report.refused == [added[1].id: .isRunning])
      #expect(await manager.summaries().map(\.id) == [added[1].id])
      #expect(try await manager.coordinator.removeEnded([added[0].id]).refused.isEmpty)
    }
  }

  @Test func `Members of a group that has not ended are not settled`() async throws {
    try await withList { manager, request in
      let added = try await manager.add([request("a", "g"), request("b", "g")])
      let queue = manager.coordinator
      try await added[0].cancel()
      #expect(await queue.settled([.cancelled], ofWholeGroups: true).isEmpty)
      #expect(await queue.settled([.cancelled], ofWholeGroups: false) == [added[0].id])
      #expect(await queue.settled([.completed], ofWholeGroups: false).isEmpty)
      try await added[1].cancel()
      #expect(await Set(queue.settled([.cancelled], ofWholeGroups: true)) == Set(added.map(\.id)))
      let ends = try await queue.ends(of: added.map(\.id))
      #expect(ends.map(\.id) == added.map(\.id) && ends.allSatisfy { $0.time != nil })
    }
  }

  @Test func `The same download is found while it has not ended, on its own side of TCP`()
    async throws
  {
    try await withList { manager, request in
      let first = try await manager.add(request("a", nil))
      func find(
        _ change: (inout TransferRequest) -> Void = { _ in }
      ) async throws -> (isNew: Bool, id: TransferID) {
        var again = try request("a", nil)
        change(&again)
        let added = try await manager.added([again], ifKnown: .keep, key: nil, findsSame: true)
        let id = added.all[0].id
        #expect(added.same.contains(id) == (id == first.id))
        return (id != first.id, id)
      }
      #expect(try await !find().isNew)
      #expect(try await !find { $0.rateLimit = 5 }.isNew, "that is no other download")
      #expect(try await find { $0.roots = ["/d"] }.isNew)
      #expect(try await find { $0.startSeconds = 1e10 }.isNew)
      #expect(try await find { $0.download?.headers = [("A", "1")] }.isNew)
      #expect(try await find { $0.after = [first.id] }.isNew)
      try await first.pause()
      #expect(try await !find().isNew)
      try await first.cancel()
      #expect(try await find().isNew)
    }
  }

  @Test func `Pages go from both ends, and take what a closure takes`() async throws {
    try await withList { manager, request in
      let ids = try await manager.add(
        (0..<7).map { try request("\($0)", $0 % 2 == 0 ? "even" : nil) }
      ).map(\.id)
      let queue = manager.coordinator
      #expect(await queue.page(after: nil, atMost: 3, fromEnd: true) == [ids[6], ids[5], ids[4]])
      #expect(await queue.page(after: ids[5], atMost: 2, fromEnd: true) == [ids[4], ids[3]])
      #expect(await queue.page(after: ids[5], atMost: 9, fromEnd: false) == [ids[6]])
      let even = await queue.page(after: ids[0], atMost: 2, fromEnd: false) { $0.group == "even" }
      #expect(even == [ids[2], ids[4]])
    }
  }
}
