import HaulCore
import HaulTesting
import Testing

@Suite struct EndlessAndHostileTests {
  private func finish(
    _ fault: Fault, _ change: (inout DownloadRequest) -> Void = { _ in },
    _ check: (DownloadFixture, DownloadFixture.Outcome) throws -> Void
  ) async throws {
    let resource = FaultScript.Resource("/f.bin", seed: 47, length: 200_000, faults: [fault])
    try await DownloadFixture.with([resource]) { fixture in
      try check(fixture, try await fixture.finish(try fixture.request("/f.bin", change)))
    }
  }

  @Test(arguments: [true, false])
  func `An endless body stops at the maximum size`(
    isChunked: Bool
  ) async throws {
    try await finish(
      Fault(.ignoreRange, .endless(chunked: isChunked)), { $0.maximumSize = 300_000 }
    ) {
      fixture, outcome in
      try fixture.expectFailure(.tooLarge, outcome, without: "f.bin")
      #expect(outcome.attempts == 0)
      // Not because the disk was full, or because of a system limit.
      #expect(outcome.result.error?.message.contains("300000") == true, "\(outcome.result)")
    }
  }

  @Test(arguments: [true, false])
  func `Bytes beyond the announced range are not written`(isDeclared: Bool) async throws {
    let fault = Fault(.lengthenBody(by: 5000, declared: isDeclared), when: .init(has: .range))
    try await finish(fault) { fixture, outcome in
      try fixture.expectWhole("f.bin", seed: 47, length: 200_000, outcome)
    }
  }

  @Test func `A length above the maximum size is refused before the body`() async throws {
    try await finish(
      Fault(.stall(after: 0)), { $0.maximumSize = 199_999 }
    ) { fixture, outcome in
      try fixture.expectFailure(.tooLarge, outcome, without: "f.bin")
      #expect(outcome.result.fetched == 0)
      #expect(try fixture.names().isEmpty)
    }
  }

  @Test(arguments: [
    Fault.Action.headerBomb(lineBytes: 1 << 20), .headerBomb(fields: 50_000),
  ])
  func `A head of excessive size is refused, and nothing is written`(
    bomb: Fault.Action
  ) async throws {
    try await finish(Fault(bomb), { $0.retry.retries = 0 }) { fixture, outcome in
      try fixture.expectFailure(.protocolViolation, outcome, without: "f.bin")
      #expect(try fixture.names().isEmpty)
    }
  }

  @Test func `A merely large head is accepted`() async throws {
    try await finish(Fault(.headerBomb(lineBytes: 20_000, fields: 100))) { fixture, outcome in
      try fixture.expectWhole("f.bin", seed: 47, length: 200_000, outcome)
    }
  }
}
