import FoundationEssentials
import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Common mistakes of download modules, which must be impossible here.
@Suite("Mistakes of download modules") struct DownloadModuleMistakeTests {
  private static let length = 2 << 20

  @Test func `The finished file is at the requested path, and the result has that path`()
    async throws
  {
    try await DownloadFixture.with([.init("/f.bin", seed: 7, length: 100_000)]) { bench in
      let exact = try await bench.finish(try bench.request("/f.bin", as: "other.name"))
      try bench.expectWhole("other.name", seed: 7, length: 100_000, exact)
      #expect(exact.result.path == bench.path("other.name"))
      var request = try bench.request("/f.bin")
      request.destination = .directory(bench.path("made/for/it"))
      let derived = try await bench.finish(request)
      try bench.expectWhole("made/for/it/f.bin", seed: 7, length: 100_000, derived)
      #expect(derived.result.path == bench.path("made/for/it/f.bin"))
    }
  }

  @Test func `A failed publication is reported as a failure, and the bytes are kept`() async throws
  {
    try await DownloadFixture.with([.stalling("/f.bin", seed: 7)]) { bench in
      let request = try bench.request("/f.bin", as: "f.bin")
      async let running = bench.finish(request)
      try await bench.server.waitForHeld("/f.bin", count: 2)
      try bench.put([1], as: "f.bin")
      bench.server.setFaults("/f.bin", [])
      bench.server.release()
      try bench.expectFailure(.nameConflict, try await running)
      #expect(try bench.names() == ["f.bin", "f.bin.haul.journal", "f.bin.haul.part"])
    }
  }

  @Test func `A network error is reported with its code and reason`() async throws {
    let port = 1  // without a listener, and never given to another test
    try await DownloadFixture.with([]) { bench in
      var request = try bench.request("/f.bin") { $0.retry.retries = 0 }
      request.url = try ResourceURL("http://127.0.0.1:\(port)/f.bin")
      let outcome = try await bench.finish(request)
      try bench.expectFailure(.connect, outcome)
      #expect(
        outcome.result.error?.message.contains("refused by 127.0.0.1:") == true, "\(outcome.result)"
      )
      #expect(try bench.names().isEmpty)
    }
  }

  @Test(arguments: [400, 401, 403, 404, 410, 451, 500, 503])
  func `An error page is never saved as the file`(status: Int) async throws {
    let page = "<html><body>so sorry</body></html>"
    let fault = Fault(.status(status, headers: ["Content-Type: text/html"], body: page))
    try await DownloadFixture.with([.init("/f.bin", seed: 7, length: 1000, faults: [fault])]) {
      bench in
      let outcome = try await bench.finish(try bench.request("/f.bin") { $0.retry.retries = 0 })
      #expect(outcome.result.state == .failed)
      #expect(outcome.result.error?.status == status)
      #expect(try bench.names().isEmpty)
    }
  }

  @Test func `An error page in answer to a resume changes no byte on disk`() async throws {
    try await DownloadFixture.with([.stalling("/f.bin", seed: 7)]) { bench in
      let request = try bench.request("/f.bin") { $0.retry.retries = 0 }
      try await bench.interrupt(request, path: "/f.bin")
      bench.server.setFaults("/f.bin", [Fault(.status(500, body: "<html>so sorry</html>"))])
      try bench.expectFailure(.httpStatus, try await bench.finish(request), without: "f.bin")
      bench.server.setFaults("/f.bin", [])
      let outcome = try await bench.finish(request)
      try bench.expectWhole("f.bin", seed: 7, length: Self.length, outcome)
      #expect(outcome.result.reused > 0)
    }
  }

  @Test func `A resume is not reported as a failure, and a second pause works`() async throws {
    try await DownloadFixture.with([.stalling("/f.bin", seed: 7)]) { bench in
      let request = try bench.request("/f.bin")
      var there = 0
      for _ in 1...2 {
        // Nil: paused, and not reported as finished.
        try await bench.interrupt(request, path: "/f.bin")
        let part = try bench.contents("f.bin.haul.part")
        #expect(try bench.names() == ["f.bin.haul.journal", "f.bin.haul.part"])
        let matching = part.indices.count { part[$0] != 0 }
        #expect(matching > there, "the second run received more")
        there = matching
      }
      bench.server.setFaults("/f.bin", [])
      let outcome = try await bench.finish(request)
      try bench.expectWhole("f.bin", seed: 7, length: Self.length, outcome)
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
    try await DownloadFixture.with([bare, silent]) { bench in
      for (name, seed) in [("bare.bin", 8), ("silent.bin", 9)] as [(String, UInt64)] {
        let request = try bench.request("/\(name)")
        let server = bench.server
        let paused = try await bench.run(
          request, interruption: { try await server.waitForHeld("/\(name)") })
        #expect(paused == nil)
        server.setFaults("/\(name)", [])
        let outcome = try await bench.finish(request)
        try bench.expectWhole(name, seed: seed, length: Self.length, outcome)
      }
      #expect(try bench.names() == ["bare.bin", "silent.bin"])
    }
  }

  @Test func `A cancel deletes the part file, and is reported once`() async throws {
    try await DownloadFixture.with([.stalling("/f.bin", seed: 7)]) { bench in
      let manager = try TransferManager()
      let events = manager.events()
      let transfer = try await manager.add(try bench.request("/f.bin"))
      try await bench.server.waitForHeld("/f.bin", count: 2)
      try await transfer.cancel()
      await manager.shutdown()
      #expect(await ends(events) == [.cancelled])
      #expect(try bench.names().isEmpty)
    }
  }

  @Test func `A cancel after a pause deletes the part file, and is reported once`() async throws {
    try await DownloadFixture.with([.stalling("/f.bin", seed: 7)]) { bench in
      let manager = try TransferManager()
      let events = manager.events()
      let transfer = try await manager.add(try bench.request("/f.bin"))
      try await bench.server.waitForHeld("/f.bin", count: 2)
      await manager.pauseAll()
      try await transfer.cancel()
      await manager.shutdown()
      #expect(await ends(events) == [.cancelled])
      #expect(try bench.names().isEmpty)
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
