import HaulCore
import HaulKit
import HaulTesting
import Testing

/// A slow or lost connection does not delay the others.
@Suite
struct StragglerTests {
  private static let length: Int64 = 6 << 20

  @Test
  func `If one falls silent, another fetches its rest, and no attempt is counted`() async throws {
    let file = FaultScript.Resource(
      "/f.bin", seed: 5, length: Self.length,
      faults: [Fault(.stall(after: 64 << 10), when: .request(2))]
    ).with { $0.rate = 1 << 20 }
    try await DownloadFixture.with([file]) { fixture in
      let outcome = try await fixture.finish(
        try fixture.request("/f.bin") { $0.connections = 4 }, idleTimeout: .seconds(120))
      try fixture.expectWhole("f.bin", seed: 5, length: Int(Self.length), outcome)
      #expect(outcome.attempts == 0)
      #expect(fixture.server.snapshot.requestCount("/f.bin") > 4)
    }
  }

  @Test
  func `A connection lost after many bytes is replaced at once, and no attempt is counted`()
    async throws
  {
    let file = FaultScript.Resource(
      "/f.bin", seed: 6, length: Self.length,
      faults: [
        // The first one continues meanwhile.
        Fault(.stall(after: 1 << 20), when: .request(1)),
        Fault(.reset(after: 768 << 10), when: .request(2)),
      ]
    ).with { $0.rate = 4 << 20 }
    try await DownloadFixture.with([file]) { fixture in
      let server = fixture.server
      let watcher = Task {
        try await server.waitForRequests(3, path: "/f.bin")
        // The first one may stop after that.
        while true {
          try await server.waitForHeld("/f.bin")
          server.release("/f.bin")
        }
      }
      defer { watcher.cancel() }
      let outcome = try await fixture.finish(
        try fixture.request("/f.bin") {
          $0.connections = 2
          $0.retry.retries = 0
        }, idleTimeout: .seconds(120))
      try fixture.expectWhole("f.bin", seed: 6, length: Int(Self.length), outcome)
      #expect(outcome.attempts == 0)
    }
  }
}
