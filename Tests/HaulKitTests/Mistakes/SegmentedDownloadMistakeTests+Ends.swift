import HaulCore
import HaulTesting
import Testing

extension SegmentedDownloadMistakeTests {
  @Test func `An interrupted download resumes from its bytes, and sends its validator`()
    async throws
  {
    try await DownloadFixture.with([.stalling("/f.bin", seed: 2)]) { fixture in
      let request = try fixture.request("/f.bin")
      try await fixture.interrupt(request, path: "/f.bin")
      fixture.server.setFaults("/f.bin", [])
      fixture.server.resetStatistics()
      let outcome = try await fixture.finish(request)
      try fixture.expectWhole("f.bin", seed: 2, length: 2 << 20, outcome)
      #expect(outcome.result.reused > 0)
      #expect(outcome.result.reused + outcome.result.fetched >= 2 << 20)
      let requests = fixture.server.snapshot.requests
      #expect(requests.allSatisfy { $0.ifRange == FaultScript.Resource.strongTag(seed: 2) })
    }
  }

  @Test func `Without a validator, one connection is used`() async throws {
    let bare = FaultScript.Resource("/f.bin", seed: 2, length: 2 << 20).with {
      $0.entityTag = nil
      $0.lastModified = nil
    }
    try await DownloadFixture.with([bare]) { fixture in
      let outcome = try await fixture.finish(try fixture.request("/f.bin"))
      try fixture.expectWhole("f.bin", seed: 2, length: 2 << 20, outcome)
      #expect(fixture.server.snapshot.requests.count == 1)
    }
  }

  @Test func `The requests at any time stay within the allowed connections`() async throws {
    let resource = FaultScript.Resource(
      "/f.bin", seed: 2, length: 4 << 20, faults: [.firstHeld])
    try await DownloadFixture.with([resource]) { fixture in
      let request = try fixture.request("/f.bin") { $0.connections = 3 }
      let outcome = try await fixture.finishWithTwo(request, path: "/f.bin")
      try fixture.expectWhole("f.bin", seed: 2, length: 4 << 20, outcome)
      let most = fixture.server.snapshot.maximumInProgress("/f.bin")
      // A response that the client has ended may still be in progress on the server.
      #expect(most >= 2 && most <= 4, "\(most)")
    }
  }

  @Test(arguments: [0, 1])
  func `A file of zero or one byte completes`(length: Int) async throws {
    try await DownloadFixture.with([.init("/f.bin", seed: 2, length: Int64(length))]) { fixture in
      let outcome = try await fixture.finish(try fixture.request("/f.bin"))
      try fixture.expectWhole("f.bin", seed: 2, length: length, outcome)
      #expect(try fixture.names() == ["f.bin"])
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
    try await DownloadFixture.with([resource]) { fixture in
      let outcome = try await fixture.finish(try fixture.request("/f.bin"))
      try fixture.expectWhole("f.bin", seed: 2, length: 300_000, outcome)
      #expect(outcome.result.verified == verified)
    }
  }

  @Test(arguments: ["-1", "+5", "0x10", "99999999999999999999", "5, 6"])
  func `An invalid length is reported as a failure`(
    value: String
  ) async throws {
    let resource = FaultScript.Resource(
      "/f.bin", seed: 2, length: 300_000, faults: [Fault(.contentLength(values: [value]))])
    try await DownloadFixture.with([resource]) { fixture in
      let outcome = try await fixture.finish(try fixture.request("/f.bin") { $0.retry.retries = 0 })
      try fixture.expectFailure(.protocolViolation, outcome, without: "f.bin")
    }
  }

  @Test func `A failed download keeps the existing file`() async throws {
    let resource = FaultScript.Resource(
      "/f.bin", seed: 2, length: 300_000, faults: [Fault(.status(404))])
    try await DownloadFixture.with([resource]) { fixture in
      try fixture.put([1, 2, 3], as: "f.bin")
      let outcome = try await fixture.finish(
        try fixture.request("/f.bin", as: "f.bin") {
          $0.ifExists = .overwrite
          $0.retry.retries = 0
        })
      try fixture.expectFailure(.notFound, outcome)
      #expect(try fixture.contents("f.bin") == [1, 2, 3])
    }
  }
}
