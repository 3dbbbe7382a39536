import HaulCore
import HaulTesting
import Testing

@Suite struct ConnectionTests {
  private static let length = 400_000

  @Test(arguments: [0, 1, 65_536, 65_537, 300_000, 399_999] as [Int64])
  func `A reset after any number of bytes costs one attempt and no byte`(
    bytes: Int64
  ) async throws {
    let fault = Fault(.reset(after: bytes), when: .request(1))
    let resource = FaultScript.Resource(
      "/f.bin", seed: 36, length: Int64(Self.length), faults: [fault])
    try await DownloadFixture.with([resource]) { fixture in
      let outcome = try await fixture.finish(try fixture.request("/f.bin") { $0.connections = 1 })
      try fixture.expectWhole("f.bin", seed: 36, length: Self.length, outcome)
      #expect(outcome.attempts == 1)
      #expect(try fixture.names() == ["f.bin"])
    }
  }

  @Test func `A file completes although each connection is reset in turn`() async throws {
    let fault = Fault(.reset(after: 100_000), when: .init(times: 6))
    let resource = FaultScript.Resource("/f.bin", seed: 36, length: 2 << 20, faults: [fault])
    try await DownloadFixture.with([resource]) { fixture in
      let outcome = try await fixture.finish(try fixture.request("/f.bin") { $0.connections = 4 })
      try fixture.expectWhole("f.bin", seed: 36, length: 2 << 20, outcome)
      #expect(outcome.restarts == 0)
    }
  }

  @Test func `One retry suffices for a server that cuts each answer after a third`() async throws {
    var (rest, faults) = (30_000 as Int64, [Fault]())
    for request in 1...5 {
      faults.append(Fault(.reset(after: rest / 3), when: .request(request)))
      rest -= rest / 3
    }
    let resource = FaultScript.Resource("/f.bin", seed: 36, length: 30_000, faults: faults)
    try await DownloadFixture.with([resource]) { fixture in
      let outcome = try await fixture.finish(try fixture.request("/f.bin") { $0.retry.retries = 1 })
      try fixture.expectWhole("f.bin", seed: 36, length: 30_000, outcome)
      #expect(outcome.attempts == 5)
    }
  }

  @Test func `Without retries, a reset fails the download and keeps its bytes`() async throws {
    let fault = Fault(.reset(after: 300_000), when: .request(1))
    let resource = FaultScript.Resource(
      "/f.bin", seed: 36, length: Int64(Self.length), faults: [fault])
    try await DownloadFixture.with([resource]) { fixture in
      let request = try fixture.request("/f.bin") {
        $0.connections = 1
        $0.retry.retries = 0
      }
      try fixture.expectFailure(
        .connectionLost, try await fixture.finish(request), without: "f.bin")
      #expect(try fixture.names() == ["f.bin.haul.journal", "f.bin.haul.part"])
      let second = try await fixture.finish(request)
      try fixture.expectWhole("f.bin", seed: 36, length: Self.length, second)
      #expect(second.result.reused > 0)
      #expect(second.result.fetched < Int64(Self.length))
    }
  }

  @Test func `A stalled connection is closed, and the download continues`() async throws {
    let fault = Fault(.stall(after: 200_000), when: .request(1))
    let resource = FaultScript.Resource(
      "/f.bin", seed: 37, length: Int64(Self.length), faults: [fault])
    try await DownloadFixture.with([resource]) { fixture in
      let outcome = try await fixture.finish(
        try fixture.request("/f.bin") { $0.connections = 1 }, idleTimeout: .milliseconds(200))
      try fixture.expectWhole("f.bin", seed: 37, length: Self.length, outcome)
      let codes = outcome.attemptCodes
      #expect(codes.contains(.stalled))
    }
  }

  @Test func `A permanently stalled server is reported as a failure`() async throws {
    let resource = FaultScript.Resource(
      "/f.bin", seed: 37, length: Int64(Self.length), faults: [Fault(.stall(after: 200_000))])
    try await DownloadFixture.with([resource]) { fixture in
      let request = try fixture.request("/f.bin") {
        $0.connections = 1
        $0.retry.retries = 0
      }
      let outcome = try await fixture.finish(request, idleTimeout: .milliseconds(200))
      #expect(outcome.result.state == .failed)
      // On a slow machine, the head may have been late already.
      #expect(outcome.code == .stalled || outcome.code == .timeout, "\(outcome.result)")
      #expect(outcome.result.error?.isRetryable == true)
      #expect(try !fixture.names().contains("f.bin"))
    }
  }

  @Test(arguments: [Fault.Action.stallBeforeHead, .stallInHead(after: 30)])
  func `An endless head times out`(fault: Fault.Action) async throws {
    let resource = FaultScript.Resource("/f.bin", seed: 39, length: 1000, faults: [Fault(fault)])
    try await DownloadFixture.with([resource]) { fixture in
      let request = try fixture.request("/f.bin") { $0.retry.retries = 0 }
      let outcome = try await fixture.finish(request, idleTimeout: .milliseconds(200))
      #expect(outcome.result.state == .failed)
      #expect(outcome.code == .timeout || outcome.code == .stalled, "\(outcome.result)")
      #expect(outcome.result.error?.isRetryable == true)
      #expect(try fixture.names().isEmpty)
    }
  }
}

extension DownloadFixture.Outcome {
  /// The codes of the failures that were retried.
  var attemptCodes: [TransferError.Code] {
    events.compactMap { if case .attempt(_, let error, _) = $0 { error.code } else { nil } }
  }
}
