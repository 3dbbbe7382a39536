import HaulCore
import HaulTesting
import Testing

extension SegmentedDownloadMistakeTests {
  @Test func `An interrupted download resumes from its bytes, and sends its validator`()
    async throws
  {
    try await DownloadFixture.with([.stalling("/f.bin", seed: 2)]) { bench in
      let request = try bench.request("/f.bin")
      try await bench.interrupt(request, path: "/f.bin")
      bench.server.setFaults("/f.bin", [])
      bench.server.resetStatistics()
      let outcome = try await bench.finish(request)
      try bench.expectWhole("f.bin", seed: 2, length: 2 << 20, outcome)
      #expect(outcome.result.reused > 0)
      #expect(outcome.result.reused + outcome.result.fetched >= 2 << 20)
      let requests = bench.server.snapshot.requests
      #expect(requests.allSatisfy { $0.ifRange == FaultScript.Resource.strongTag(seed: 2) })
    }
  }

  @Test func `Without a validator, one connection is used`() async throws {
    let bare = FaultScript.Resource("/f.bin", seed: 2, length: 2 << 20).with {
      $0.entityTag = nil
      $0.lastModified = nil
    }
    try await DownloadFixture.with([bare]) { bench in
      let outcome = try await bench.finish(try bench.request("/f.bin"))
      try bench.expectWhole("f.bin", seed: 2, length: 2 << 20, outcome)
      #expect(bench.server.snapshot.requests.count == 1)
    }
  }

  @Test func `The requests at any time stay within the allowed connections`() async throws {
    let resource = FaultScript.Resource("/f.bin", seed: 2, length: 4 << 20).with {
      $0.rate = 2 << 20
    }
    try await DownloadFixture.with([resource]) { bench in
      let outcome = try await bench.finish(try bench.request("/f.bin") { $0.connections = 3 })
      try bench.expectWhole("f.bin", seed: 2, length: 4 << 20, outcome)
      let most = bench.server.snapshot.maximumInProgress("/f.bin")
      // A response that the client has ended may still be in progress on the server.
      #expect(most >= 2 && most <= 4, "\(most)")
    }
  }

  @Test(arguments: [0, 1])
  func `A file of zero or one byte completes`(length: Int) async throws {
    try await DownloadFixture.with([.init("/f.bin", seed: 2, length: Int64(length))]) { bench in
      let outcome = try await bench.finish(try bench.request("/f.bin"))
      try bench.expectWhole("f.bin", seed: 2, length: length, outcome)
      #expect(try bench.names() == ["f.bin"])
    }
  }

  @Test(arguments: [
    (Fault.Action.chunked(), TransferResult.Verification.framing),
    (.closeDelimited(), .unverified),
  ])
  func `A body without a length completes, and reports how its end was known`(
    framing: Fault.Action, verified: TransferResult.Verification
  ) async throws {
    let resource = FaultScript.Resource(
      "/f.bin", seed: 2, length: 300_000, faults: [Fault(.ignoreRange, framing)])
    try await DownloadFixture.with([resource]) { bench in
      let outcome = try await bench.finish(try bench.request("/f.bin"))
      try bench.expectWhole("f.bin", seed: 2, length: 300_000, outcome)
      #expect(outcome.result.verified == verified)
    }
  }

  @Test(arguments: ["-1", "+5", "0x10", "99999999999999999999", "5, 6"])
  func `An invalid length is reported as a failure`(
    value: String
  ) async throws {
    let resource = FaultScript.Resource(
      "/f.bin", seed: 2, length: 300_000, faults: [Fault(.contentLength(values: [value]))])
    try await DownloadFixture.with([resource]) { bench in
      let outcome = try await bench.finish(try bench.request("/f.bin") { $0.retry.retries = 0 })
      try bench.expectFailure(.protocolViolation, outcome, without: "f.bin")
    }
  }

  @Test func `A failed download keeps the existing file`() async throws {
    let resource = FaultScript.Resource(
      "/f.bin", seed: 2, length: 300_000, faults: [Fault(.reset(after: 100_000))])
    try await DownloadFixture.with([resource]) { bench in
      try bench.put([1, 2, 3], as: "f.bin")
      let outcome = try await bench.finish(
        try bench.request("/f.bin", as: "f.bin") {
          $0.ifExists = .overwrite
          $0.retry.retries = 0
        })
      try bench.expectFailure(.connectionLost, outcome)
      #expect(try bench.contents("f.bin") == [1, 2, 3])
    }
  }
}
