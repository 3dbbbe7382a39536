import HaulCore
import HaulTesting
import Testing

/// A file that is replaced by another of the same length, between two runs or during one.
@Suite struct ChangedFileTests {
  private static let length = 2 << 20
  private static let (old, new, newest): (UInt64, UInt64, UInt64) = (11, 12, 13)

  enum Proof: String, CaseIterable, Sendable {
    case strongTag, weakTag, weakTagOnly, date, none
  }

  /// The validators of the resource in the version with that seed.
  private static func validators(
    _ proof: Proof, seed: UInt64
  ) -> @Sendable (inout FaultScript.Resource) -> Void {
    { resource in
      resource.seed = seed
      let tag = FaultScript.Resource.strongTag(seed: seed)
      resource.entityTag =
        switch proof {
        case .strongTag: tag
        case .weakTag, .weakTagOnly: "W/" + tag
        case .date, .none: nil
        }
      resource.lastModified =
        proof == .none || proof == .weakTagOnly
        ? nil : FaultScript.Resource.oldDate + Int64(seed) * 60
    }
  }

  private static func resource(_ proof: Proof) -> FaultScript.Resource {
    .stalling("/f.bin", seed: old).with(validators(proof, seed: old))
  }

  private func replace(_ fixture: DownloadFixture, _ proof: Proof, by seed: UInt64) {
    fixture.server.update("/f.bin", Self.validators(proof, seed: seed))
  }

  /// Pauses a run that has bytes on disk.
  private func interrupt(_ fixture: DownloadFixture, _ request: DownloadRequest, _ proof: Proof)
    async throws
  {
    let isParallel = proof != .none && proof != .weakTagOnly
    let server = fixture.server
    let outcome = try await fixture.run(
      request,
      interruption: { try await server.waitForHeld("/f.bin", count: isParallel ? 2 : 1) })
    #expect(outcome == nil)
  }

  @Test(arguments: Proof.allCases, [false, true])
  func `After a replacement between two runs the file is completely the new version`(
    proof: Proof, refusesIfRange: Bool
  ) async throws {
    try await DownloadFixture.with([Self.resource(proof)]) { fixture in
      let request = try fixture.request("/f.bin")
      try await interrupt(fixture, request, proof)
      replace(fixture, proof, by: Self.new)
      fixture.server.setFaults("/f.bin", refusesIfRange ? [Fault(.refuseIfRange)] : [])
      let outcome = try await fixture.finish(request)
      try fixture.expectWhole("f.bin", seed: Self.new, length: Self.length, outcome)
      // Without a proof, it may have been paused before a byte was claimed.
      let isProof = proof != .none && proof != .weakTagOnly
      #expect((isProof ? 1...1 : 0...1).contains(outcome.restarts))
      #expect(try fixture.names() == ["f.bin"])
    }
  }

  @Test(arguments: [Proof.strongTag, .weakTag, .date], [false, true])
  func `Without a replacement the bytes are reused, even if If-Range is refused`(
    proof: Proof, refusesIfRange: Bool
  ) async throws {
    try await DownloadFixture.with([Self.resource(proof)]) { fixture in
      let request = try fixture.request("/f.bin")
      try await interrupt(fixture, request, proof)
      fixture.server.setFaults("/f.bin", refusesIfRange ? [Fault(.refuseIfRange)] : [])
      let outcome = try await fixture.finish(request)
      try fixture.expectWhole("f.bin", seed: Self.old, length: Self.length, outcome)
      #expect(outcome.restarts == 0)
      #expect(outcome.result.reused > 0)
    }
  }

  @Test(arguments: [Proof.strongTag, .weakTag, .date, .none], [false, true])
  func `After a replacement during the run the file is completely the new version`(
    proof: Proof, ignoresIfRange: Bool
  ) async throws {
    try await DownloadFixture.with([Self.resource(proof)]) { fixture in
      let request = try fixture.request("/f.bin") { $0.connections = 1 }
      async let running = fixture.finish(request)
      try await fixture.server.waitForHeld("/f.bin")
      replace(fixture, proof, by: Self.new)
      fixture.server.setFaults("/f.bin", ignoresIfRange ? [Fault(.ignoreIfRange)] : [])
      fixture.server.dropConnections()
      let outcome = try await running
      try fixture.expectWhole("f.bin", seed: Self.new, length: Self.length, outcome)
      #expect(outcome.restarts <= 1)
    }
  }

  @Test(arguments: [false, true])
  func `A replacement between two connections of a run never mixes versions`(
    ignoresIfRange: Bool
  ) async throws {
    try await DownloadFixture.with([Self.resource(.strongTag)]) { fixture in
      let request = try fixture.request("/f.bin") { $0.connections = 4 }
      fixture.server.setFaults(
        "/f.bin",
        [
          Fault(
            .content(seed: Self.new), .entityTag(value: "\"other\""),
            when: .init(offsetAtLeast: 1 << 20))
        ] + (ignoresIfRange ? [Fault(.ignoreIfRange)] : []))
      let outcome = try await fixture.finish(request)
      // The server alternates for ever, so this cannot complete; it must not mix versions either.
      if outcome.result.state == .completed {
        let isOld = try fixture.isWhole("f.bin", seed: Self.old, length: Self.length)
        let isNew = try fixture.isWhole("f.bin", seed: Self.new, length: Self.length)
        #expect(isOld || isNew)
      } else {
        try fixture.expectFailure(.changedOnServer, outcome, without: "f.bin")
        #expect(outcome.restarts == 1)
      }
    }
  }

  @Test func `Two replacements in one run fail it, and the next run downloads the newest version`()
    async throws
  {
    let stalling = Self.resource(.strongTag).with {
      $0.faults = [Fault(.stall(after: 256 << 10), when: .init(offsetBelow: 1))]
    }
    try await DownloadFixture.with([stalling]) { fixture in
      let request = try fixture.request("/f.bin") { $0.connections = 1 }
      async let running = fixture.finish(request)
      try await fixture.server.waitForHeld("/f.bin")
      replace(fixture, .strongTag, by: Self.new)
      fixture.server.dropConnections()
      try await fixture.server.waitUntil { snapshot in
        snapshot.held("/f.bin") == 1
          && snapshot.requests("/f.bin").count { $0.range == "bytes=0-" } == 2
      }
      replace(fixture, .strongTag, by: Self.newest)
      fixture.server.dropConnections()
      let outcome = try await running
      try fixture.expectFailure(.changedOnServer, outcome, without: "f.bin")
      #expect(outcome.restarts == 1)
      fixture.server.setFaults("/f.bin", [])
      let second = try await fixture.finish(request)
      try fixture.expectWhole("f.bin", seed: Self.newest, length: Self.length, second)
    }
  }

  @Test(arguments: [Proof.none, .weakTagOnly], [false, true])
  func `Without a validator, bytes are compared before they are reused`(
    proof: Proof, isReplaced: Bool
  ) async throws {
    try await DownloadFixture.with([Self.resource(proof)]) { fixture in
      let request = try fixture.request("/f.bin") { $0.allowUnverified = true }
      try await fixture.interrupt(request, path: "/f.bin")
      if isReplaced { fixture.server.update("/f.bin") { $0.seed = Self.new } }
      fixture.server.setFaults("/f.bin", [])
      fixture.server.resetStatistics()
      // Over one connection, a version that is begun anew comes in one answer.
      let again = try fixture.request("/f.bin") { ($0.allowUnverified, $0.connections) = (true, 1) }
      let outcome = try await fixture.finish(again)
      let seed = isReplaced ? Self.new : Self.old
      try fixture.expectWhole("f.bin", seed: seed, length: Self.length, outcome)
      #expect(outcome.restarts == (isReplaced ? 1 : 0))
      #expect(outcome.result.verified == (isReplaced ? .length : .unverified))
    }
  }
}
