import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Heads and the ends of bodies.
@Suite
struct FramingCases {
  @Test func `Case 17: every request asks for bytes without coding`() async throws {
    let resource = FaultScript.Resource.file(
      1024 * kibi, Fault(.reset(after: 200_000), when: .request(1))
    ) {
      $0.rate = 2 << 20
    }
    try await DownloadFixture.serving(resource) { fixture in
      let request = try fixture.file(connections: 4) { $0.headers = [("Accept-Encoding", "gzip")] }
      try fixture.expectWhole(try await fixture.finish(request), length: 1024 * kibi)
      #expect(fixture.requests.count > 1)
      #expect(
        fixture.requests.allSatisfy { $0.headers.values(of: "Accept-Encoding") == ["identity"] })
    }
  }

  @Test
  func `Case 17: a range of an encoded body is not written; the whole body is stored as sent`()
    async throws
  {
    let fault = Fault(.setHeaders(fields: ["Content-Encoding: gzip"]))
    try await DownloadFixture.serving(.file(512 * kibi, fault)) { fixture in
      let outcome = try await fixture.finish(try fixture.file(connections: 4))
      try fixture.expectWhole(outcome)
      #expect(fixture.ranges == ["bytes=0-", "-"])
    }
  }

  @Test(arguments: ["gzip, gzip, gzip", "br, gzip", "deflate", "zstd", "unheard-of"])
  func `Case 18: stacked codings are stored as sent, never decoded`(codings: String) async throws {
    let fault = Fault(.setHeaders(fields: ["Content-Encoding: \(codings)"]))
    try await DownloadFixture.serving(.file(512 * kibi, fault)) { fixture in
      try fixture.expectWhole(try await fixture.finish(try fixture.file(connections: 4)))
    }
  }

  @Test func `Case 18: a decompression bomb is stored as its few bytes`() async throws {
    // The start of a gzip stream; its decoded contents do not matter.
    let bomb = "\u{1F}\u{01}" + String(repeating: "\u{00}", count: 1000)
    let answer = Fault(
      .respond(
        status: 200, headers: ["Content-Encoding: gzip, gzip", "Content-Type: text/plain"],
        body: bomb))
    try await DownloadFixture.serving(.file(512 * kibi, answer)) { fixture in
      let outcome = try await fixture.finish(try fixture.file { $0.maximumSize = 2000 })
      #expect(outcome.result.state == .completed)
      #expect(try fixture.contents("file.bin") == Array(bomb.utf8))
    }
  }

  @Test
  func `Case 18: the size limit applies to the encoded bytes, with or without a length`()
    async throws
  {
    let coded = Fault.Action.setHeaders(fields: ["Content-Encoding: gzip"])
    for fault in [Fault(.ignoreRange, coded), Fault(.ignoreRange, coded, .chunked())] {
      try await DownloadFixture.serving(.file(512 * kibi, fault)) { fixture in
        let outcome = try await fixture.finish(try fixture.file { $0.maximumSize = 100 * kibi })
        try fixture.expectFailure(outcome, .tooLarge)
      }
    }
  }

  static func unranged(_ actions: Fault.Action...) -> FaultScript.Resource {
    var fault = Fault(.ignoreRange)
    fault.actions += actions
    return .file(512 * kibi, fault)
  }

  @Test func `Case 19: a chunked body is complete with its last chunk`() async throws {
    try await DownloadFixture.serving(Self.unranged(.chunked())) { fixture in
      let outcome = try await fixture.finish(try fixture.file(connections: 4))
      try fixture.expectWhole(outcome)
      #expect(outcome.result.verified == .framing)
      #expect(fixture.requests.count == 1)
    }
  }

  @Test func `Case 19: a chunked body without its last chunk is not complete`() async throws {
    try await DownloadFixture.serving(Self.unranged(.chunked(terminal: false))) { fixture in
      let outcome = try await fixture.finish(try fixture.file(retries: 0))
      try fixture.expectFailure(outcome, .connectionLost)
    }
  }

  @Test func `Case 20: beside Transfer-Encoding, Content-Length does not count`() async throws {
    try await DownloadFixture.serving(Self.unranged(.chunked(), .contentLength(values: ["100"]))) {
      fixture in
      let outcome = try await fixture.finish(try fixture.file())
      try fixture.expectWhole(outcome)
      #expect(outcome.result.verified == .framing)
      #expect(fixture.requests.count == 1)
    }
  }

  @Test
  func `Case 21: a body that ends with the connection is reported as unverified`() async throws {
    try await DownloadFixture.serving(Self.unranged(.closeDelimited())) { fixture in
      let outcome = try await fixture.finish(try fixture.file(connections: 4))
      try fixture.expectWhole(outcome)
      #expect(outcome.result.verified == .unverified)
    }
  }

  @Test
  func `Case 21: with a digest it is verified, and a truncated body is detected`() async throws {
    try await DownloadFixture.serving(Self.unranged(.closeDelimited())) { fixture in
      let request = try fixture.file { $0.checksums = rightChecksums() }
      fixture.server.update(resourcePath) { $0.faults[0].actions.append(.close(after: 300_000)) }
      try fixture.expectFailure(try await fixture.finish(request), .checksumMismatch)
      fixture.server.update(resourcePath) { _ = $0.faults[0].actions.popLast() }
      let outcome = try await fixture.finish(request)
      try fixture.expectWhole(outcome)
      #expect(outcome.result.verified == .checksum)
    }
  }

  @Test
  func `Case 21: a close-delimited range has an end, and a truncated one is requested again`()
    async throws
  {
    let fault = Fault(.closeDelimited(), .close(after: 200_000), when: .request(1))
    try await DownloadFixture.serving(.file(512 * kibi, fault)) { fixture in
      let outcome = try await fixture.finish(try fixture.file())
      try fixture.expectWhole(outcome)
      #expect(fixture.ranges == ["bytes=0-", "bytes=200000-524287"])
    }
  }

  @Test(arguments: [["{length}", "{length}"], ["{length}, {length}"]])
  func `Case 22: equal lengths are one length`(values: [String]) async throws {
    try await DownloadFixture.serving(Self.unranged(.contentLength(values: values))) { fixture in
      let outcome = try await fixture.finish(try fixture.file(connections: 4))
      try fixture.expectWhole(outcome)
      #expect(outcome.result.verified == .length)
    }
  }

  @Test(arguments: [
    ["{length}", "5"], ["-1"], ["+5"], ["0x10"], ["1e3"], ["5, 6"],
    ["9223372036854775808"], ["18446744073709551616"],
  ])
  func `Case 22: invalid lengths, and two different lengths, are refused`(values: [String])
    async throws
  {
    try await DownloadFixture.serving(Self.unranged(.contentLength(values: values))) { fixture in
      let outcome = try await fixture.finish(try fixture.file(retries: 1))
      try fixture.expectFailure(outcome, .protocolViolation)
      #expect(fixture.requests.count == 1)
    }
  }

  @Test func `Case 33: interim responses are skipped`() async throws {
    let fault = Fault(.informational(count: 20, headers: ["Link: </x>; rel=preload"]))
    try await DownloadFixture.serving(.file(512 * kibi, fault)) { fixture in
      try fixture.expectWhole(try await fixture.finish(try fixture.file()))
    }
  }

  @Test
  func `Case 33: endless interim responses are ended by the deadline for the head`() async throws {
    try await DownloadFixture.serving(.file(512 * kibi, Fault(.informational(milliseconds: 10)))) {
      fixture in
      let outcome = try await fixture.finish(
        try fixture.file(retries: 0), idleTimeout: .milliseconds(200))
      #expect([.timeout, .stalled].contains(outcome.result.error?.code))
      #expect(try !fixture.names().contains("file.bin"))
    }
  }

  @Test(arguments: [(200_000, 0), (1, 20_000)])
  func `Case 48: a header bomb is refused`(lineBytes: Int, fields: Int) async throws {
    let fault = Fault(.headerBomb(lineBytes: lineBytes, fields: fields))
    try await DownloadFixture.serving(.file(512 * kibi, fault)) { fixture in
      let outcome = try await fixture.finish(try fixture.file())
      try fixture.expectFailure(outcome, .protocolViolation)
      #expect(fixture.requests.count == 1)
    }
  }

  @Test func `Case 34: trailers are ignored`() async throws {
    let trailers = ["ETag: \"other\"", "Content-Range: bytes 0-4/5"]
    try await DownloadFixture.serving(Self.unranged(.chunked(trailers: trailers))) { fixture in
      let outcome = try await fixture.finish(try fixture.file())
      try fixture.expectWhole(outcome)
      #expect(outcome.result.verified == .framing)
    }
  }

  @Test
  func `Case 35: digests of a part, and of unknown algorithms, do not count for the whole file`()
    async throws
  {
    let fault = Fault(
      .digest(field: .content, wrong: true),
      .addHeaders(fields: ["Repr-Digest: unknown=:AAAA:", "Digest: MD5=AAAAAAAAAAAAAAAAAAAAAA=="]))
    try await DownloadFixture.serving(.file(512 * kibi, fault)) { fixture in
      let outcome = try await fixture.finish(try fixture.file())
      try fixture.expectWhole(outcome)
      #expect(outcome.result.verified == .length)
    }
  }
}
