import HaulCore
import HaulKit
import HaulTesting
import Testing

/// A server without validators.
@Suite
struct NoValidatorCases {
  static func bare(_ faults: Fault...) -> FaultScript.Resource {
    FaultScript.Resource(resourcePath, seed: 7, length: 512 * kibi, faults: faults).with {
      $0.entityTag = nil
      $0.lastModified = nil
    }
  }

  @Test
  func `Case 16: without validators there is one connection, and each interruption starts over`()
    async throws
  {
    let cut = Fault(.reset(after: 200_000), when: .first(2))
    try await DownloadFixture.serving(Self.bare(cut)) { fixture in
      let outcome = try await fixture.finish(try fixture.file(connections: 4))
      try fixture.expectWhole(outcome)
      #expect(outcome.attempts == 2)
      #expect(fixture.ranges == ["bytes=0-", "bytes=0-", "bytes=0-"])
    }
  }

  @Test
  func `Case 16: without validators, a server that always breaks off fails in the end`()
    async throws
  {
    try await DownloadFixture.serving(Self.bare(Fault(.reset(after: 400_000)))) { fixture in
      let outcome = try await fixture.finish(try fixture.file(retries: 2))
      try fixture.expectFailure(outcome, .connectionLost)
      #expect(fixture.requests.count == 3)
    }
  }

  @Test
  func `Case 16: with a digest, bytes of an earlier run count without validators`() async throws {
    try await DownloadFixture.serving(Self.bare(VersionCases.half)) { fixture in
      let request = try fixture.file { $0.checksums = rightChecksums() }
      try await fixture.interrupt(request)
      fixture.server.setFaults(resourcePath, [])
      let outcome = try await fixture.finish(request)
      try fixture.expectWhole(outcome)
      #expect(outcome.result.verified == .checksum)
      #expect(fixture.ranges == [VersionCases.resumed])
    }
  }

  @Test
  func `Case 16: unverified bytes count if they equal the server's where they are compared`()
    async throws
  {
    try await DownloadFixture.serving(Self.bare(VersionCases.half)) { fixture in
      let request = try fixture.file { $0.allowUnverified = true }
      try await fixture.interrupt(request)
      fixture.server.setFaults(resourcePath, [])
      let outcome = try await fixture.finish(request)
      try fixture.expectWhole(outcome)
      #expect(outcome.restarts == 0)
      #expect(outcome.result.verified == .unverified)
      #expect(fixture.ranges == ["bytes=0-204799", VersionCases.resumed])
    }
  }

  @Test func `Case 16: unverified bytes do not count if the server's differ`() async throws {
    try await DownloadFixture.serving(Self.bare(VersionCases.half)) { fixture in
      let request = try fixture.file { $0.allowUnverified = true }
      try await fixture.interrupt(request)
      fixture.server.setFaults(resourcePath, [])
      fixture.server.update(resourcePath) { $0.seed = 8 }
      let outcome = try await fixture.finish(request)
      try fixture.expectWhole(outcome, seed: 8)
      #expect(outcome.restarts == 1)
      #expect(fixture.ranges == ["bytes=0-204799", "bytes=0-"])
    }
  }
}
