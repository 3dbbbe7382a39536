import HaulCore
import HaulKit
import HaulTesting
import Testing

/// What an additional connection gets ends no download.
@Suite(.timeLimit(.minutes(10)))
struct AdditionalConnectionTests {
  private static let length: Int64 = 4 << 20

  private static let page = Fault.Action.status(
    200, headers: ["Content-Type: text/html"], body: "<html>too many connections</html>")

  /// Answers to every request for a range that does not begin with the first byte.
  private static let statuses = [
    400, 402, 404, 405, 406, 409, 410, 418, 420, 451, 500, 501, 503, 509, 520, 522, 530,
  ]

  private static let others: [[Fault.Action]] = [
    [page], [.ignoreRange], [.redirect(location: nil)], [.redirect(location: "/f.bin")],
    [.redirect(location: "http://127.0.0.1:1/f.bin")], [.redirect(location: "ftp://a/f.bin")],
    [.rangeNotSatisfiable()], [.cut(how: .close, after: 0, in: .head)],
    [.cut(how: .reset, after: 5, in: .head)], [.stallBeforeHead], [.raw(text: "\u{0}garbage")],
    [.shiftRange(by: 1000)], [.contentRange(value: nil)], [.multipart],
    [.contentRange(value: "bytes {first}-{last}/4194305")],
    [.entityTag(value: "\"other\""), .ignoreIfRange],
    [.entityTag(value: "W/\"weak\""), .ignoreIfRange],
  ]

  private static let answers =
    statuses.map { [Fault.Action.status($0, body: "no")] } + others

  @Test(arguments: answers)
  func `The first connection completes the file alone`(actions: [Fault.Action]) async throws {
    var fault = Fault(.stall(after: 0), when: .init(offsetAtLeast: 1))
    fault.actions = actions
    let file = FaultScript.Resource("/f.bin", seed: 5, length: Self.length, faults: [fault])
    try await DownloadFixture.with([file]) { fixture in
      let outcome = try await fixture.finish(try fixture.request("/f.bin") { $0.connections = 4 })
      try fixture.expectWhole("f.bin", seed: 5, length: Int(Self.length), outcome)
      #expect(outcome.restarts == 0)
    }
  }

  @Test func `If each answer has a new entity tag, one connection has the file`() async throws {
    let tags = (1...40).map { number in
      Fault(.entityTag(value: "\"\(number)\""), .ignoreIfRange, when: .request(number))
    }
    let file = FaultScript.Resource("/f.bin", seed: 5, length: Self.length, faults: tags)
    try await DownloadFixture.with([file]) { fixture in
      let outcome = try await fixture.finish(try fixture.request("/f.bin") { $0.connections = 4 })
      try fixture.expectWhole("f.bin", seed: 5, length: Int(Self.length), outcome)
      #expect(outcome.restarts == 0)
    }
  }
}

/// Servers that refuse or break requests for a range.
@Suite(.timeLimit(.minutes(10)))
struct RefusedRangeTests {
  private func finish(
    _ actions: Fault.Action..., retries: Int = 3,
    _ check: (DownloadFixture, DownloadFixture.Outcome) throws -> Void
  ) async throws {
    var fault = Fault(.status(500), when: .init(has: .range))
    fault.actions = actions
    let file = FaultScript.Resource("/f.bin", seed: 5, length: 300_000, faults: [fault])
    try await DownloadFixture.with([file]) { fixture in
      let request = try fixture.request("/f.bin") { $0.retry.retries = retries }
      try check(fixture, try await fixture.finish(request))
    }
  }

  @Test(arguments: [400, 403, 404, 409, 416, 501])
  func `A refused range is requested as the whole file`(status: Int) async throws {
    try await finish(.status(status, body: "no")) { fixture, outcome in
      try fixture.expectWhole("f.bin", seed: 5, length: 300_000, outcome)
      #expect(outcome.attempts == 0)
      #expect(fixture.server.snapshot.requests("/f.bin").map(\.range) == ["bytes=0-", nil])
    }
  }

  @Test
  func `A server that fails at each range is asked without one at the second attempt`() async throws
  {
    for ending in [Fault.Ending.close, .reset] {
      try await finish(.cut(how: ending, after: 0, in: .head)) { fixture, outcome in
        try fixture.expectWhole("f.bin", seed: 5, length: 300_000, outcome)
        #expect(outcome.attempts == 2)
      }
    }
    try await finish(.status(500), retries: 0) { fixture, outcome in
      try fixture.expectWhole("f.bin", seed: 5, length: 300_000, outcome)
    }
  }

  @Test
  func `A loop of redirects that only a range gets ends with a request without one`() async throws {
    try await finish(.status(301, headers: ["Location: /f.bin"])) { fixture, outcome in
      try fixture.expectWhole("f.bin", seed: 5, length: 300_000, outcome)
      #expect(outcome.attempts == 0)
    }
  }

  @Test
  func `206 with the whole file is accepted, also in answer to a request without a range`()
    async throws
  {
    try await finish(.contentRange(value: nil)) { fixture, outcome in
      try fixture.expectWhole("f.bin", seed: 5, length: 300_000, outcome)
    }
    let file = FaultScript.Resource(
      "/f.bin", seed: 5, length: 4 << 20,
      faults: [
        Fault(.ignoreRange, .unaskedPartial, when: .init(offsetAtLeast: 1)),
        Fault(.unaskedPartial, when: .init(has: .neither)),
      ])
    try await DownloadFixture.with([file]) { fixture in
      let outcome = try await fixture.finish(try fixture.request("/f.bin") { $0.connections = 4 })
      try fixture.expectWhole("f.bin", seed: 5, length: 4 << 20, outcome)
    }
  }

  @Test
  func `A mirror that breaks off and then refuses is left for the one that is named now`()
    async throws
  {
    let first = FaultScript.Resource(
      "/a/f.bin", seed: 5, length: 300_000,
      faults: [
        Fault(.reset(after: 100_000), when: .request(1)), Fault(.status(503), when: .init(skip: 1)),
      ])
    let second = FaultScript.Resource("/b/f.bin", seed: 5, length: 300_000)
    let start = FaultScript.Resource("/f.bin", length: 0).with {
      $0.faults = [
        Fault(.redirect(location: "/a/f.bin"), when: .request(1)),
        Fault(.redirect(location: "/b/f.bin"), when: .init(skip: 1)),
      ]
    }
    try await DownloadFixture.with([start, first, second]) { fixture in
      let outcome = try await fixture.finish(try fixture.request("/f.bin") { $0.connections = 1 })
      try fixture.expectWhole("f.bin", seed: 5, length: 300_000, outcome)
      #expect(outcome.restarts == 1, "another mirror's tag says nothing of the bytes")
    }
  }
}
