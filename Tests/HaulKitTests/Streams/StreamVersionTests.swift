import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Bytes that a reader has are never mixed and never replaced.
@Suite(.timeLimit(.minutes(10)))
struct StreamVersionTests {
  private static let held = Fault(.stall(after: 200 * kibi))

  /// Reads until the server holds the answer at 200 KiB, lets `steer` change it, and continues to
  /// read.
  private func finish(
    _ fixture: DownloadFixture, _ request: DownloadRequest, steer: (FaultServer) -> Void
  ) async throws -> StreamRun.Outcome {
    let run = try await StreamRun(request)
    return try await run.finish { count in
      guard count == 200 * kibi else { return }
      try await fixture.server.waitForHeld(resourcePath)
      fixture.server.setFaults(resourcePath, [])
      steer(fixture.server)
      fixture.server.dropConnections()
    }
  }

  @Test
  func `Another version after the first bytes fails at once; the output stays`() async throws {
    try await DownloadFixture.serving(.file(512 * kibi, Self.held)) { fixture in
      let outcome = try await finish(fixture, try fixture.stream()) {
        $0.replaceContent(resourcePath, seed: 8)
      }
      #expect(outcome.error?.code == .changedOnServer)
      #expect(outcome.result?.error?.code == .changedOnServer)
      #expect(outcome.isBeginning(seed: 7, count: 200 * kibi))
      #expect(outcome.restarts == 0)
    }
  }

  @Test
  func `Without ranges, a new answer skips the bytes that are out, if the strong tag is the same`()
    async throws
  {
    let resource = FaultScript.Resource.file(512 * kibi, Self.held) { $0.acceptRanges = .none }
    try await DownloadFixture.serving(resource) { fixture in
      let outcome = try await finish(fixture, try fixture.stream()) { _ in }
      try fixture.expectWhole(outcome)
      #expect(outcome.attempts == 1)
    }
  }

  @Test(arguments: [true, false])
  func `Without a strong validator a lost connection ends it, whatever digest was requested`(
    hasRanges: Bool
  ) async throws {
    let resource = FaultScript.Resource.file(512 * kibi, Self.held) { resource in
      resource.acceptRanges = hasRanges ? .bytes : .none
      resource.entityTag = nil
      resource.lastModified = nil
    }
    try await DownloadFixture.serving(resource) { fixture in
      let request = try fixture.stream(connections: 4) { $0.checksums = rightChecksums() }
      let outcome = try await finish(fixture, request) { _ in }
      #expect(outcome.error?.code == .connectionLost)
      #expect(outcome.isBeginning(seed: 7, count: 200 * kibi))
      #expect(fixture.requests.count == 1)
    }
  }

  @Test(arguments: [1, 4])
  func `The digest covers the passed bytes; a wrong one is reported last`(connections: Int)
    async throws
  {
    try await DownloadFixture.serving(.file(2 << 20)) { fixture in
      for isRight in [true, false] {
        let request = try fixture.stream(connections: connections) {
          $0.checksums = rightChecksums(seed: isRight ? 7 : 8, length: 2 << 20)
        }
        let outcome = try await StreamRun(request, window: 512 << 10).finish()
        #expect(outcome.isBeginning(seed: 7, count: 2 << 20))
        #expect(outcome.error?.code == (isRight ? nil : .checksumMismatch))
        #expect(outcome.result?.verified == (isRight ? .checksum : nil))
      }
    }
  }

  @Test func `A digest that the server announces is checked too`() async throws {
    let wrong = Fault(.digest(field: .repr, wrong: true))
    try await DownloadFixture.serving(.file(512 * kibi, wrong)) { fixture in
      let outcome = try await StreamRun(try fixture.stream(connections: 4)).finish()
      #expect(outcome.error?.code == .checksumMismatch)
      #expect(outcome.isBeginning(seed: 7, count: 512 * kibi))
    }
  }
}
