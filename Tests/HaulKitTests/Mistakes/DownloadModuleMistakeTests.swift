import FoundationEssentials
import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Common mistakes of download modules, which must be impossible here.
@Suite struct DownloadModuleMistakeTests {
  private static let length = 2 << 20

  @Test func `The finished file is at the requested path, and the result has that path`()
    async throws
  {
    try await DownloadFixture.with([.init("/f.bin", seed: 7, length: 100_000)]) { fixture in
      let exact = try await fixture.finish(try fixture.request("/f.bin", as: "other.name"))
      try fixture.expectWhole("other.name", seed: 7, length: 100_000, exact)
      #expect(exact.result.path == fixture.path("other.name"))
      var request = try fixture.request("/f.bin")
      request.destination = .directory(fixture.path("made/for/it"))
      let derived = try await fixture.finish(request)
      try fixture.expectWhole("made/for/it/f.bin", seed: 7, length: 100_000, derived)
      #expect(derived.result.path == fixture.path("made/for/it/f.bin"))
    }
  }

  @Test func `A failed publication is reported as a failure, and the bytes are kept`() async throws
  {
    try await DownloadFixture.with([.stalling("/f.bin", seed: 7)]) { fixture in
      let request = try fixture.request("/f.bin", as: "f.bin")
      async let running = fixture.finish(request)
      try await fixture.server.waitForHeld("/f.bin", count: 2)
      try fixture.put([1], as: "f.bin")
      fixture.server.setFaults("/f.bin", [])
      fixture.server.release()
      try fixture.expectFailure(.nameConflict, try await running)
      #expect(try fixture.names() == ["f.bin", "f.bin.haul.journal", "f.bin.haul.part"])
    }
  }

  @Test func `A network error is reported with its code and reason`() async throws {
    let port = 1  // without a listener, and never given to another test
    try await DownloadFixture.with([]) { fixture in
      var request = try fixture.request("/f.bin") { $0.retry.retries = 0 }
      request.url = try ResourceURL("http://127.0.0.1:\(port)/f.bin")
      let outcome = try await fixture.finish(request)
      try fixture.expectFailure(.connect, outcome)
      #expect(
        outcome.result.error?.message.contains("refused by 127.0.0.1:") == true, "\(outcome.result)"
      )
      #expect(try fixture.names().isEmpty)
    }
  }

  @Test(arguments: [400, 401, 403, 404, 410, 451, 500, 503])
  func `An error page is never saved as the file`(status: Int) async throws {
    let page = "<html><body>so sorry</body></html>"
    let fault = Fault(.status(status, headers: ["Content-Type: text/html"], body: page))
    try await DownloadFixture.with([.init("/f.bin", seed: 7, length: 1000, faults: [fault])]) {
      fixture in
      let outcome = try await fixture.finish(try fixture.request("/f.bin") { $0.retry.retries = 0 })
      #expect(outcome.result.state == .failed)
      #expect(outcome.result.error?.status == status)
      #expect(try fixture.names().isEmpty)
    }
  }

  @Test func `An error page in answer to a resume changes no byte on disk`() async throws {
    try await DownloadFixture.with([.stalling("/f.bin", seed: 7)]) { fixture in
      let request = try fixture.request("/f.bin") { $0.retry.retries = 0 }
      try await fixture.interrupt(request, path: "/f.bin")
      fixture.server.setFaults("/f.bin", [Fault(.status(500, body: "<html>so sorry</html>"))])
      try fixture.expectFailure(.httpStatus, try await fixture.finish(request), without: "f.bin")
      fixture.server.setFaults("/f.bin", [])
      let outcome = try await fixture.finish(request)
      try fixture.expectWhole("f.bin", seed: 7, length: Self.length, outcome)
      #expect(outcome.result.reused > 0)
    }
  }

  @Test func `A resume is not reported as a failure, and a second pause works`() async throws {
    try await DownloadFixture.with([.stalling("/f.bin", seed: 7)]) { fixture in
      let request = try fixture.request("/f.bin")
      var there = 0
      for _ in 1...2 {
        // Nil: paused, and not reported as finished.
        try await fixture.interrupt(request, path: "/f.bin")
        let part = try fixture.contents("f.bin.haul.part")
        #expect(try fixture.names() == ["f.bin.haul.journal", "f.bin.haul.part"])
        let matching = part.indices.count { part[$0] != 0 }
        #expect(matching > there, "the second run received more")
        there = matching
      }
      fixture.server.setFaults("/f.bin", [])
      let outcome = try await fixture.finish(request)
      try fixture.expectWhole("f.bin", seed: 7, length: Self.length, outcome)
      #expect(outcome.attempts == 0)
    }
  }

  @Test func `A pause before the first byte or without validators can be resumed`() async throws {
    let bare = FaultScript.Resource.stalling("/bare.bin", seed: 8).with {
      $0.entityTag = nil
      $0.lastModified = nil
    }
    let silent = FaultScript.Resource(
      "/silent.bin", seed: 9, length: Int64(Self.length), faults: [Fault(.stallBeforeHead)])
    try await DownloadFixture.with([bare, silent]) { fixture in
      for (name, seed) in [("bare.bin", 8), ("silent.bin", 9)] as [(String, UInt64)] {
        let request = try fixture.request("/\(name)")
        let server = fixture.server
        let paused = try await fixture.run(
          request, interruption: { try await server.waitForHeld("/\(name)") })
        #expect(paused == nil)
        server.setFaults("/\(name)", [])
        let outcome = try await fixture.finish(request)
        try fixture.expectWhole(name, seed: seed, length: Self.length, outcome)
      }
      #expect(try fixture.names() == ["bare.bin", "silent.bin"])
    }
  }

  @Test func `A cancel deletes the part file, and is reported once`() async throws {
    try await DownloadFixture.with([.stalling("/f.bin", seed: 7)]) { fixture in
      let manager = try TransferManager()
      let events = manager.events()
      let transfer = try await manager.add(try fixture.request("/f.bin"))
      try await fixture.server.waitForHeld("/f.bin", count: 2)
      try await transfer.cancel()
      await manager.shutdown()
      #expect(await ends(events) == [.cancelled])
      #expect(try fixture.names().isEmpty)
    }
  }

  @Test func `A cancel after a pause deletes the part file, and is reported once`() async throws {
    try await DownloadFixture.with([.stalling("/f.bin", seed: 7)]) { fixture in
      let manager = try TransferManager()
      let events = manager.events()
      let transfer = try await manager.add(try fixture.request("/f.bin"))
      try await fixture.server.waitForHeld("/f.bin", count: 2)
      await manager.pauseAll()
      try await transfer.cancel()
      await manager.shutdown()
      #expect(await ends(events) == [.cancelled])
      #expect(try fixture.names().isEmpty)
    }
  }

  private func ends(_ events: TransferEvents) async -> [TransferResult.State] {
    var states: [TransferResult.State] = []
    for await event in events {
      if case .finished(let result) = event.kind { states.append(result.state) }
    }
    return states
  }
}
