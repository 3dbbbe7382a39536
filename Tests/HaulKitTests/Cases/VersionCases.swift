import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Which bytes belong together.
@Suite
struct VersionCases {
  static let half = Fault(.stall(after: 200 * kibi))
  static let resumed = "bytes=204800-524287"

  @Test
  func `Case 13: a weak tag is never sent as If-Range, and allows only one connection`()
    async throws
  {
    let resource = FaultScript.Resource.file(
      512 * kibi, Fault(.reset(after: 200_000), when: .request(1))
    ) {
      $0.entityTag = "W/\"1\""
      $0.lastModified = nil
    }
    try await DownloadFixture.serving(resource) { fixture in
      let outcome = try await fixture.finish(try fixture.file(connections: 4))
      try fixture.expectWhole(outcome)
      #expect(fixture.ranges == ["bytes=0-", "bytes=0-"])
      #expect(fixture.requests.allSatisfy { $0.ifRange == nil })
    }
  }

  @Test func `Case 13: with a digest, a weak tag allows ranges, but no If-Range`() async throws {
    let held = Fault(.stall(after: 64 * kibi), when: .request(1))
    let resource = FaultScript.Resource.file(1024 * kibi, held) {
      $0.entityTag = "W/\"1\""
      $0.lastModified = nil
    }
    try await DownloadFixture.serving(resource) { fixture in
      let request = try fixture.file(connections: 4) {
        $0.checksums = rightChecksums(length: 1024 * kibi)
      }
      async let running = fixture.finish(request)
      try await fixture.server.waitUntil {
        $0.requests.count > 1 && $0.counters.values.contains { $0.held > 0 }
      }
      fixture.server.release()
      let outcome = try await running
      try fixture.expectWhole(outcome, length: 1024 * kibi)
      #expect(outcome.result.verified == .checksum)
      #expect(fixture.requests.count > 1)
      #expect(fixture.requests.allSatisfy { $0.ifRange == nil })
    }
  }

  @Test(arguments: ["Wed, 01 Jan 2020 00:00:00 GMT", "Wed Jan  1 00:00:00 2020"])
  func `Case 14: an old Last-Modified resumes after a comparison, and is sent back as received`(
    text: String
  ) async throws {
    let dated = Fault(.setHeaders(fields: ["Last-Modified: \(text)"]), .ignoreIfRange)
    let resource = FaultScript.Resource.file(512 * kibi, dated, Self.half) { $0.entityTag = nil }
    try await DownloadFixture.serving(resource) { fixture in
      try await fixture.interrupt(try fixture.file())
      fixture.server.setFaults(resourcePath, [dated])
      let outcome = try await fixture.finish(try fixture.file())
      try fixture.expectWhole(outcome)
      #expect(outcome.result.reused == 200 * kibi)
      #expect(fixture.ranges == ["bytes=0-204799", Self.resumed])
      #expect(fixture.requests.map(\.ifRange) == [nil, text])
    }
  }

  @Test func `Case 14: a recent Last-Modified proves nothing: the file starts over`() async throws {
    let dated = Fault(.setHeaders(fields: ["Date: Wed, 01 Jan 2020 00:00:59 GMT"]))
    let resource = FaultScript.Resource.file(512 * kibi, dated, Self.half) { $0.entityTag = nil }
    try await DownloadFixture.serving(resource) { fixture in
      try await fixture.interrupt(try fixture.file(connections: 4))
      fixture.server.setFaults(resourcePath, [dated])
      let outcome = try await fixture.finish(try fixture.file(connections: 4))
      try fixture.expectWhole(outcome)
      #expect(outcome.result.reused == 0)
      #expect(fixture.ranges == ["bytes=0-"])
      #expect(fixture.requests.allSatisfy { $0.ifRange == nil })
    }
  }

  @Test
  func `Case 15: a version that changes between two runs starts over, which is reported once`()
    async throws
  {
    try await DownloadFixture.serving(.file(512 * kibi, Self.half)) { fixture in
      try await fixture.interrupt(try fixture.file())
      fixture.server.setFaults(resourcePath, [])
      fixture.server.replaceContent(resourcePath, seed: 8)
      let outcome = try await fixture.finish(try fixture.file())
      try fixture.expectWhole(outcome, seed: 8)
      #expect(outcome.restarts == 1)
      #expect(outcome.result.reused == 0)
      #expect(fixture.requests.first?.ifRange == FaultScript.Resource.strongTag(seed: 7))
    }
  }

  static let heldAtHalf = Fault(.stall(after: 200 * kibi), when: .init(offsetBelow: 1))

  @Test
  func `Case 15: a version that changes midway starts over, and is never mixed`() async throws {
    try await DownloadFixture.serving(.file(512 * kibi, Self.heldAtHalf)) { fixture in
      let outcome = try await fixture.finish(try fixture.file()) { _ in
        fixture.server.setFaults(resourcePath, [])
        fixture.server.replaceContent(resourcePath, seed: 8)
        fixture.server.dropConnections()
      }
      try fixture.expectWhole(outcome, seed: 8)
      #expect(outcome.restarts == 1)
    }
  }

  @Test func `Case 15: a version that changes twice in one run fails`() async throws {
    try await DownloadFixture.serving(.file(512 * kibi, Self.heldAtHalf)) { fixture in
      let outcome = try await fixture.finish(try fixture.file(), times: 2) { count in
        fixture.server.replaceContent(resourcePath, seed: 7 + UInt64(count))
        fixture.server.dropConnections()
      }
      try fixture.expectFailure(outcome, .changedOnServer)
      #expect(outcome.restarts == 1)
    }
  }

  @Test func `Case 15: one node with another tag does not cost the bytes`() async throws {
    let other = Fault(.entityTag(value: "\"other\""), .ignoreIfRange, when: .first(1))
    try await DownloadFixture.serving(.file(512 * kibi, Self.half)) { fixture in
      try await fixture.interrupt(try fixture.file())
      fixture.server.setFaults(resourcePath, [other])
      let outcome = try await fixture.finish(try fixture.file())
      try fixture.expectWhole(outcome)
      #expect(outcome.restarts == 0)
      #expect(fixture.ranges == [Self.resumed, Self.resumed])
    }
  }

  @Test
  func `Case 15: the old bytes are kept until the first byte of the new version`() async throws {
    try await DownloadFixture.serving(.file(512 * kibi, Self.half)) { fixture in
      try await fixture.interrupt(try fixture.file())
      fixture.server.replaceContent(resourcePath, seed: 8)
      fixture.server.setFaults(resourcePath, [Fault(.status(500), when: .init(offsetBelow: 1))])
      let failed = try await fixture.finish(try fixture.file(retries: 0))
      try fixture.expectFailure(failed, .httpStatus)
      fixture.server.setFaults(resourcePath, [])
      fixture.server.replaceContent(resourcePath, seed: 7)
      let outcome = try await fixture.finish(try fixture.file())
      try fixture.expectWhole(outcome)
      #expect(outcome.result.reused == 200 * kibi)
    }
  }

  private static let coded = Fault.Action.addHeaders(fields: ["Content-Encoding: gzip"])
  private static let other = Fault.Action.content(seed: 9, length: 512 * kibi)

  @Test(arguments: [true, false])
  func `With another content coding it is another version, although the tag is the same`(
    isCodedFirst: Bool
  ) async throws {
    let first = Fault(.ignoreRange, Self.coded, .stall(after: 200 * kibi))
    try await DownloadFixture.serving(.file(512 * kibi, isCodedFirst ? first : Self.half)) {
      fixture in
      try await fixture.interrupt(try fixture.file())
      fixture.server.setFaults(
        resourcePath,
        [isCodedFirst ? Fault(Self.other) : Fault(.ignoreRange, Self.coded, Self.other)])
      try fixture.expectWhole(try await fixture.finish(try fixture.file()), seed: 9)
    }
  }

  @Test(arguments: [nil, "\"1\""])
  func `So it is within one run, with a tag or with a date alone`(tag: String?) async throws {
    let resource = FaultScript.Resource.file(
      512 * kibi, Fault(.reset(after: 200_000), when: .request(1)),
      Fault(.ignoreRange, Self.coded, Self.other, .chunked(), when: .init(firstRequest: 2))
    ) { $0.entityTag = tag }
    try await DownloadFixture.serving(resource) { fixture in
      try fixture.expectWhole(try await fixture.finish(try fixture.file()), seed: 9)
    }
  }

  @Test(arguments: [512 * kibi, 512 * kibi + 100, 512 * kibi - 100])
  func `A body without a length must have that of the file, or the file is another`(
    length: Int64
  ) async throws {
    let resource = FaultScript.Resource.file(
      512 * kibi, Fault(.reset(after: 200_000), when: .request(1)),
      Fault(
        .ignoreRange, .content(seed: length == 512 * kibi ? 7 : 9, length: length), .chunked(),
        when: .init(firstRequest: 2)))
    try await DownloadFixture.serving(resource) { fixture in
      let outcome = try await fixture.finish(try fixture.file { $0.retry.retries = 1 })
      guard length >= 512 * kibi else { return try fixture.expectFailure(outcome, .connectionLost) }
      try fixture.expectWhole(outcome, seed: length == 512 * kibi ? 7 : 9, length: length)
      #expect(outcome.restarts == (length == 512 * kibi ? 0 : 1))
    }
  }
}
