import HaulCore
import HaulKit
import HaulTesting
import Testing

/// A manager without subscribers still knows phases and progress.
@Suite(.timeLimit(.minutes(10))) struct NoSubscriberTests {
  @Test func `A snapshot without subscribers has no phase when paused or ended`() async throws {
    try await DownloadFixture.with([.held("a"), .plain("b")]) { fixture in
      let manager = try TransferManager()
      let a = try await manager.add(try fixture.request("/a", as: "a") { $0.connections = 1 })
      let b = try await manager.add(try fixture.request("/b", as: "b"))
      _ = try await b.result
      #expect(await b.snapshot?.phase == nil)
      try await fixture.server.waitForHeld("/a")
      try await a.pause()
      #expect(await a.snapshot?.phase == nil)
      fixture.server.setFaults("/a", [])
      try await a.resume()
      _ = try await a.result
      #expect(await a.snapshot?.phase == nil)
      await manager.shutdown()
    }
  }
}
