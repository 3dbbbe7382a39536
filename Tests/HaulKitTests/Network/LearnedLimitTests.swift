import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Limits of a server are learned.
@Suite struct LearnedLimitTests {
  private static let length: Int64 = 2 << 20

  @Test(arguments: [
    Fault.Action.retryLater(status: 429, seconds: 1), .retryLater(seconds: 0), .status(403),
    .cut(how: .reset, after: 0, in: .head),
  ])
  func `If a server refuses more than two connections, it completes with two, without an attempt`(
    refusal: Fault.Action
  ) async throws {
    let file = FaultScript.Resource(
      "/f.bin", seed: 5, length: Self.length,
      faults: [
        Fault(refusal, when: .init(othersInProgress: 2)),
        Fault(.stall(after: 128 << 10), when: .init(lastRequest: 2)),
      ])
    try await DownloadFixture.with([file]) { fixture in
      let server = fixture.server
      let request = try fixture.request("/f.bin") { $0.connections = 8 }
      let outcome = try await fixture.finish(request) { kind in
        // The two held ones have received bytes; all others are known to be refused.
        guard case .limited(2, _) = kind else { return }
        try await server.waitForHeld("/f.bin", count: 2)
        server.release("/f.bin")
      }
      try fixture.expectWhole("f.bin", seed: 5, length: Int(Self.length), outcome)
      #expect(outcome.attempts == 0)
      let limits = outcome.events.compactMap { kind -> Int? in
        guard case .limited(let connections, let error) = kind else { return nil }
        #expect([429, 503, 403, nil].contains(error.status))
        #expect(!error.message.isEmpty)
        return connections
      }
      #expect(!limits.isEmpty && limits == limits.sorted(by: >), "\(limits)")
      #expect(limits.last == 2 && Set(limits).count == limits.count, "\(limits)")
    }
  }

  @Test
  func `A 416 on an additional connection leaves its range to the working one`() async throws {
    let file = FaultScript.Resource(
      "/f.bin", seed: 5, length: Self.length,
      faults: [
        Fault(.stall(after: 128 << 10), when: .request(1)),
        Fault(.rangeNotSatisfiable(), when: .init(offsetAtLeast: 1)),
      ])
    try await DownloadFixture.with([file]) { fixture in
      let server = fixture.server
      let request = try fixture.request("/f.bin") { $0.connections = 2 }
      let outcome = try await fixture.finish(request) { kind in
        guard case .connections(let choice) = kind, choice.reason == .refused else { return }
        try await server.waitForHeld("/f.bin")
        server.release("/f.bin")
      }
      try fixture.expectWhole("f.bin", seed: 5, length: Int(Self.length), outcome)
      #expect(outcome.restarts == 0)
      #expect(fixture.server.snapshot.requestCount("/f.bin") == 2)
    }
  }

  @Test
  func `A 429 to one file beside a working one is no attempt; the file waits for its turn`()
    async throws
  {
    func resource(_ path: String, _ fault: Fault) -> FaultScript.Resource {
      FaultScript.Resource(path, seed: 6, length: 500_000, faults: [fault])
    }
    let held = resource("/held.bin", Fault(.stall(after: 200_000)))
    let refused = resource("/late.bin", Fault(.status(429), when: .request(1)))
    try await DownloadFixture.with([held, refused]) { fixture in
      let manager = try TransferManager()
      let events = manager.events()
      let server = fixture.server
      let first = try await manager.add(
        try fixture.request("/held.bin") { $0.connections = 1 })
      try await server.waitForHeld("/held.bin")
      var hasProgress = false
      var late: Transfer?
      var attempts = 0
      var ends: [TransferID: TransferResult] = [:]
      for await event in events {
        switch event.kind {
        case .progress(let progress) where !hasProgress && progress.bytes > 0:
          hasProgress = true
          late = try await manager.add(
            try fixture.request("/late.bin") {
              $0.connections = 1
              $0.retry.retries = 0
            })
        case .waiting where event.id == late?.id: server.release("/held.bin")
        case .attempt: attempts += 1
        case .finished(let result): ends[event.id] = result
        default: break
        }
        if ends.count == 2 { break }
      }
      await manager.shutdown()
      #expect(attempts == 0)
      #expect(ends[first.id]?.state == .completed)
      let second = try #require(late)
      #expect(ends[second.id]?.state == .completed)
    }
  }

  @Test func `Case 40: a 503 with a date is a pause of the whole host`() async throws {
    let busy = FaultScript.Resource(
      "/busy.bin", seed: 7, length: 1000,
      faults: [Fault(.retryLater(seconds: 3600, asDate: true))])
    let other = FaultScript.Resource("/other.bin", seed: 7, length: 1000)
    try await DownloadFixture.with([busy, other]) { fixture in
      let manager = try TransferManager()
      let events = manager.events()
      let first = try await manager.add(
        try fixture.request("/busy.bin") { $0.retry.maximumTimeWithoutProgress = .seconds(7200) })
      var second: Transfer?
      for await event in events {
        if case .attempt = event.kind, event.id == first.id {
          second = try await manager.add(try fixture.request("/other.bin"))
        }
        if case .waiting(let reason) = event.kind, event.id == second?.id {
          #expect(reason.code == "host-back-off")
          break
        }
      }
      await manager.shutdown()
      #expect(fixture.server.snapshot.requestCount("/other.bin") == 0)
      #expect(fixture.server.snapshot.requestCount("/busy.bin") == 1)
    }
  }
}
