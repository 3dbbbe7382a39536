import HaulCore
import HaulKit
import HaulTesting
import Testing

// The exact number of requests to a server: an unnecessary one is a fault.
@Suite(.timeLimit(.minutes(10))) struct RequestCountTests {
  @Test(arguments: [1, 8])
  func `A list of n small files needs n requests, one for each`(connections: Int) async throws {
    let paths = (0..<25).map { "/f\($0)" }
    let files = paths.map { FaultScript.Resource($0, seed: 3, length: 20_000) }
    try await DownloadFixture.with(files) { fixture in
      let outcomes = try await fixture.withManager { manager in
        try await fixture.finishAll(
          try paths.map { path in
            try fixture.request(path) { $0.connections = connections }
          }, with: manager)
      }
      #expect(outcomes.allSatisfy { $0.result.state == .completed })
      let requests = fixture.server.snapshot.requests
      #expect(requests.map(\.path).sorted() == paths.sorted())
      #expect(requests.allSatisfy { $0.method == "GET" && $0.outcome == .completed })
    }
  }

  // With a clock that stands still no connection is slow, so nothing is fetched twice.
  @Test(arguments: [1, 2, 4])
  func `A file over n connections needs n requests, and no byte is requested twice`(
    connections: Int
  ) async throws {
    let piece: Int64 = 256 << 10
    let length = piece * Int64(connections)
    let file = FaultScript.Resource(
      "/f", seed: 3, length: length, faults: [Fault(.stall(after: 1 << 10))])
    try await DownloadFixture.with([file]) { fixture in
      let (manager, end) = try fixture.manager(clock: ManualClock())
      let transfer = try await manager.add(
        try fixture.request("/f") {
          $0.connections = connections
          // Half of a piece does not justify another connection.
          $0.minimumSplit = piece * 3 / 4
        })
      try await fixture.server.waitForHeld("/f", count: connections)
      fixture.server.setFaults("/f", [])
      fixture.server.release("/f")
      #expect(try await transfer.result.state == .completed)
      await end()
      #expect(try fixture.isWhole("f", seed: 3, length: Int(length)))
      let requests = fixture.server.snapshot.requests
      #expect(requests.count == connections)
      #expect(fixture.server.snapshot.maximumInProgress("/f") == connections)
      let begins = requests.compactMap {
        $0.range?.split(separator: "=").last?.split(separator: "-")
      }
      .compactMap { $0.first.flatMap { Int64($0) } }
      #expect(begins.sorted().first == 0 && Set(begins).count == connections)
    }
  }
}
