import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Answers that differ from the requested range.
@Suite
struct RangeResponseCases {
  static let shift = Fault(.shiftRange(by: 1000), when: .init(has: .range))

  @Test
  func `Case 6: a range that begins elsewhere is never written; the whole file is requested`()
    async throws
  {
    try await DownloadFixture.serving(.file(512 * kibi, Self.shift)) { fixture in
      try fixture.expectWhole(try await fixture.finish(try fixture.file(connections: 4)))
      #expect(fixture.ranges == ["bytes=0-", "-"])
    }
  }

  @Test func `Case 6: the same for a resumed range, without losing bytes`() async throws {
    try await DownloadFixture.serving(.file(512 * kibi, VersionCases.half)) { fixture in
      try await fixture.interrupt(try fixture.file())
      fixture.server.setFaults(resourcePath, [Self.shift])
      let outcome = try await fixture.finish(try fixture.file())
      try fixture.expectWhole(outcome)
      #expect(outcome.restarts == 0)
      #expect(outcome.result.reused == 0, "every byte is downloaded again")
      #expect(fixture.ranges == [VersionCases.resumed, "-"])
    }
  }

  @Test
  func `Case 6: the same on an additional connection; the first one continues`() async throws {
    let shift = Fault(.shiftRange(by: -1), when: .init(offsetAtLeast: 1))
    try await DownloadFixture.serving(.file(1024 * kibi, .firstHeld, shift)) { fixture in
      let outcome = try await fixture.finishWithTwo(try fixture.file(connections: 4))
      try fixture.expectWhole(outcome, length: 1024 * kibi)
      #expect(outcome.attempts == 0)
      #expect(fixture.requests.count > 1)
    }
  }

  @Test
  func `Case 7: a range shorter than requested is kept, and the rest is requested`() async throws {
    try await DownloadFixture.serving(.file(512 * kibi, Fault(.shortenRange(to: 200_000)))) {
      fixture in
      let outcome = try await fixture.finish(try fixture.file())
      try fixture.expectWhole(outcome)
      #expect(outcome.attempts == 0)
      #expect(fixture.ranges == ["bytes=0-", "bytes=200000-524287", "bytes=400000-524287"])
      #expect(outcome.result.fetched == 512 * kibi)
    }
  }

  @Test
  func `Cases 7 and 11: a short range of an unknown total is not accepted as the whole file`()
    async throws
  {
    let fault = Fault(
      .shortenRange(to: 200_000), .contentRange(value: "bytes {first}-{last}/*"),
      when: .init(offsetBelow: 512 * kibi))
    try await DownloadFixture.serving(.file(512 * kibi, fault)) { fixture in
      let outcome = try await fixture.finish(try fixture.file())
      try fixture.expectWhole(outcome)
      #expect(outcome.restarts == 0)
    }
  }

  @Test
  func `Case 8: bytes beyond a shortened range are not accepted as the next bytes`() async throws {
    let fault = Fault(
      .shortenRange(to: 200_000), .lengthenBody(by: 5000), .chunked(), when: .request(1))
    try await DownloadFixture.serving(.file(512 * kibi, fault)) { fixture in
      let outcome = try await fixture.finish(try fixture.file())
      try fixture.expectWhole(outcome)
      #expect(fixture.ranges == ["bytes=0-", "bytes=200000-524287"])
    }
  }

  static let tooLong: [[Fault.Action]] = [
    [.lengthenBody(by: 5000, declared: false), .closeAfterwards(announced: true)],
    [.lengthenBody(by: 5000)],
    [.lengthenBody(by: 5000), .chunked()],
  ]

  @Test(arguments: tooLong)
  func `Case 8: bytes beyond the range are never written`(actions: [Fault.Action]) async throws {
    var fault = Fault(.ignoreIfRange, when: .init(has: .range))
    fault.actions = actions
    try await DownloadFixture.serving(.file(512 * kibi, fault)) { fixture in
      try fixture.expectWhole(try await fixture.finish(try fixture.file(connections: 2)))
    }
  }

  @Test
  func `Case 8: bytes beyond the range on a kept connection are a violation, or are not noticed`()
    async throws
  {
    let fault = Fault(.lengthenBody(by: 5000, declared: false))
    try await DownloadFixture.serving(.file(512 * kibi, fault)) { fixture in
      let outcome = try await fixture.finish(try fixture.file())
      // They are parsed as the head of another answer, before or after the end of this one was
      // passed on.
      if outcome.result.state == .completed {
        try fixture.expectWhole(outcome)
      } else {
        try fixture.expectFailure(outcome, .protocolViolation)
      }
    }
  }

  @Test
  func `Case 9: a body that ends early is an error, and the download continues`() async throws {
    let fault = Fault(.close(after: 200_000), when: .request(1))
    try await DownloadFixture.serving(.file(512 * kibi, fault)) { fixture in
      let outcome = try await fixture.finish(try fixture.file())
      try fixture.expectWhole(outcome)
      #expect(outcome.attempts == 1)
      #expect(outcome.restarts == 0)
      #expect(fixture.requests.count == 2)
    }
  }

  @Test
  func `Case 9: bytes on disk are not requested again after a lost connection`() async throws {
    let fault = Fault(.stall(after: 200 * kibi), when: .request(1))
    try await DownloadFixture.serving(.file(512 * kibi, fault)) { fixture in
      let outcome = try await fixture.finish(try fixture.file()) { _ in
        fixture.server.dropConnections()
      }
      try fixture.expectWhole(outcome)
      #expect(outcome.attempts == 1)
      #expect(fixture.ranges == ["bytes=0-", VersionCases.resumed])
      #expect(outcome.result.fetched == 512 * kibi)
    }
  }

  @Test func `Case 9: a body that ends early is an error, never a finished file`() async throws {
    try await DownloadFixture.serving(.file(512 * kibi, Fault(.close(after: 1000)))) { fixture in
      let outcome = try await fixture.finish(try fixture.file(retries: 0))
      try fixture.expectFailure(outcome, .connectionLost)
    }
  }

  @Test
  func `Case 9: a chunked body that is shorter than its Content-Range is an error`() async throws {
    let fault = Fault(
      .shortenRange(to: 1000), .chunked(), .contentRange(value: "bytes 0-524287/524288"))
    try await DownloadFixture.serving(.file(512 * kibi, fault)) { fixture in
      let outcome = try await fixture.finish(try fixture.file(retries: 0))
      try fixture.expectFailure(outcome, .connectionLost)
      #expect(fixture.requests.count == 1)
    }
  }

  @Test(arguments: [
    nil, "bytes={first}-{last}/{total}", "{first}-{last}/{total}", "bytes {first}-{last}",
    "items {first}-{last}/{total}", "bytes {last}-{first}/{total}", "bytes 0-/{total}",
  ])
  func `Case 10: a 206 with an unreadable Content-Range is not written`(value: String?) async throws
  {
    let fault = Fault(.contentRange(value: value), when: .init(has: .range))
    try await DownloadFixture.serving(.file(512 * kibi, fault)) { fixture in
      let outcome = try await fixture.finish(try fixture.file())
      try fixture.expectWhole(outcome)
      #expect(fixture.ranges == ["bytes=0-", "-"])
      #expect(outcome.attempts == 0)
    }
  }

  @Test(arguments: [true, false])
  func `Case 11: an unknown total stays unknown until the server has nothing more`(tellsAtEnd: Bool)
    async throws
  {
    let length = 512 * kibi
    let unknown = Fault(
      .contentRange(value: "bytes {first}-{last}/*"), when: .init(has: .range, offsetBelow: length))
    let end = Fault(
      .rangeNotSatisfiable(withTotal: tellsAtEnd), when: .init(offsetAtLeast: length))
    try await DownloadFixture.serving(.file(length, unknown, end)) { fixture in
      let outcome = try await fixture.finish(try fixture.file(connections: 4))
      try fixture.expectWhole(outcome)
      #expect(outcome.restarts == 0)
      #expect(fixture.ranges.prefix(2) == ["bytes=0-", "bytes=524288-"])
    }
  }

  @Test func `Case 12: another total, once, is an outdated node: nothing is lost`() async throws {
    let other = Fault(.contentRange(value: "bytes {first}-{last}/999999"), when: .first(1))
    try await DownloadFixture.serving(.file(512 * kibi, VersionCases.half)) { fixture in
      try await fixture.interrupt(try fixture.file())
      fixture.server.setFaults(resourcePath, [other])
      let outcome = try await fixture.finish(try fixture.file())
      try fixture.expectWhole(outcome)
      #expect(outcome.restarts == 0)
      #expect(fixture.ranges == [VersionCases.resumed, VersionCases.resumed])
    }
  }

  @Test
  func `Case 12: another total for each range: the whole file is requested, and nothing is mixed`()
    async throws
  {
    let other = Fault(
      .contentRange(value: "bytes {first}-{last}/999999"), when: .init(offsetAtLeast: 1))
    let held = Fault(.stall(after: 200 * kibi), when: .request(1))
    try await DownloadFixture.serving(.file(512 * kibi, other, held)) { fixture in
      let outcome = try await fixture.finish(try fixture.file()) { _ in
        fixture.server.dropConnections()
      }
      try fixture.expectWhole(outcome)
      #expect(outcome.restarts == 0)
      #expect(fixture.ranges == ["bytes=0-", VersionCases.resumed, VersionCases.resumed, "-"])
    }
  }
}
