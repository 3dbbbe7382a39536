import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Changes of transfers that run, and of several at once.
extension RequestChangeTests {
  @Test func `A running transfer joins another group, and that one waits for it`() async throws {
    try await QueueFixture.with([.held("a")]) { queue in
      let a = try await queue.add("a")[0]
      try await queue.hold(a)
      try await a.set { $0.group = "late" }
      #expect(await a.summary?.group == "late")
      #expect(await a.summary?.state == .running)
      queue.release(a)
      let results = try await queue.manager.group("late").completion()
      #expect(results[a.id]?.state == .completed)
    }
  }

  @Test func `A running download sends other header fields from its next request on`() async throws
  {
    try await QueueFixture.with([.held("a")]) { queue in
      let a = try await queue.manager.add(
        queue.request("a") {
          ($0.headers, $0.retry.retries) = ([("Authorization", "Bearer old")], 3)
        })
      try await queue.hold(a)
      try await a.set { $0.download?.headers = [("Authorization", "Bearer new")] }
      #expect(await a.summary?.state == .running)
      queue.server.setFaults("/a", [])
      queue.server.dropConnections()
      #expect(try await a.result.state == .completed)
      let sent = queue.server.snapshot.requests.map { $0.header("Authorization") }
      #expect(sent.first == "Bearer old" && sent.last == "Bearer new")
    }
  }

  @Test func `One that refuses a change does not keep the others from it`() async throws {
    try await QueueFixture.with([.plain("a"), .plain("b")]) { queue in
      await queue.manager.suspend()
      let transfers = try await queue.add("a", "b")
      let url = try ResourceURL(queue.server.url("/a"))
      let error = await refusal {
        _ = try await queue.manager.set(.ids(transfers.map(\.id))) {
          if $0.download?.url == url { $0.identifier = "fixed" }
          $0.group = "g"
        }
      }
      #expect(error?.code == .refused)
      #expect(await transfers[0].summary?.group == nil)
      #expect(await transfers[1].summary?.group == "g")
    }
  }
}
