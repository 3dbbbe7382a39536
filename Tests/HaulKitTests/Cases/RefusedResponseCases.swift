import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Answers that are not the file.
@Suite
struct RefusedResponseCases {
  @Test
  func `Case 29: a multipart body is never written; the whole file is requested instead`()
    async throws
  {
    try await DownloadFixture.serving(.file(512 * kibi, Fault(.multipart))) { fixture in
      let outcome = try await fixture.finish(try fixture.file(connections: 4))
      try fixture.expectWhole(outcome)
      #expect(fixture.ranges == ["bytes=0-", "-"])
    }
  }

  @Test
  func `Case 30: a part of the file in answer to a request without a range is refused`()
    async throws
  {
    let unreadable = Fault(.contentRange(value: nil), when: .init(has: .range))
    let unasked = Fault(
      .unaskedPartial, .contentRange(value: "bytes 0-99/524288"), when: .init(has: .neither))
    try await DownloadFixture.serving(.file(512 * kibi, unreadable, unasked)) { fixture in
      let outcome = try await fixture.finish(try fixture.file())
      try fixture.expectFailure(outcome, .protocolViolation)
      #expect(fixture.ranges == ["bytes=0-", "-"])
    }
  }

  @Test(arguments: [201, 202, 204, 205, 300, 301, 302, 303, 304, 307, 308])
  func `Case 31: a status without a file is an error, not an empty file`(status: Int) async throws {
    try await DownloadFixture.serving(.file(512 * kibi, Fault(.status(status)))) { fixture in
      let outcome = try await fixture.finish(try fixture.file())
      try fixture.expectFailure(outcome, .httpStatus)
      #expect(outcome.result.error?.status == status)
      // These may be for the range only.
      let isAskedWithout = [204, 300, 304].contains(status)
      #expect(fixture.ranges == (isAskedWithout ? ["bytes=0-", "-"] : ["bytes=0-"]))
      #expect(try fixture.names().isEmpty)
    }
  }

  static let login = Fault.Action.status(
    200, headers: ["Content-Type: text/html"], body: "<html>Please log in</html>")

  @Test
  func `Case 32: a login page instead of the file fails by its digest, in a first run`()
    async throws
  {
    try await DownloadFixture.serving(.file(512 * kibi, Fault(Self.login))) { fixture in
      let outcome = try await fixture.finish(try fixture.file { $0.checksums = rightChecksums() })
      try fixture.expectFailure(outcome, .checksumMismatch)
    }
  }

  @Test
  func `Case 32: a page without a digest fails if the address names no page`() async throws {
    for (path, isUnexpected) in [("/file.bin", true), ("/page.html", false), ("/plain", false)] {
      let page = FaultScript.Resource(path, length: 1, faults: [Fault(Self.login)])
      try await DownloadFixture.with([page]) { fixture in
        let outcome = try await fixture.finish(try fixture.request(path))
        try expect(outcome, fixture, isPage: isUnexpected)
      }
    }
  }

  @Test
  func `Case 32: the name of the file counts too, unless the address is that of a page`()
    async throws
  {
    for (path, name, isUnexpected) in [
      ("/plain", "a.iso", true), ("/a.php", "a.iso", true), ("/plain", "a", false),
      ("/plain", "a.htm", false), ("/page.html", "a.txt", false), ("/a.iso", "a", true),
      ("/a.iso", "a.html", false), ("/v1.2", "a", false), ("/h.example.org", "a", false),
    ] {
      let page = FaultScript.Resource(path, length: 1, faults: [Fault(Self.login)])
      try await DownloadFixture.with([page]) { fixture in
        let outcome = try await fixture.finish(try fixture.request(path, as: name))
        try expect(outcome, fixture, isPage: isUnexpected)
      }
    }
    let named = Fault.Action.status(
      200,
      headers: ["Content-Type: text/html", "Content-Disposition: attachment; filename=a.zip"],
      body: "<html>Please log in</html>")
    let page = FaultScript.Resource("/plain", length: 1, faults: [Fault(named)])
    try await DownloadFixture.with([page]) { fixture in
      let request = try fixture.request("/plain") { $0.usesSuggestedName = true }
      let outcome = try await fixture.finish(request)
      try expect(outcome, fixture, isPage: true)
    }
  }

  @Test
  func `Case 32: a file that is called a page is complete, by its first bytes`() async throws {
    let typed = Fault(.setHeaders(fields: ["Content-Type: text/html"]))
    try await DownloadFixture.serving(.file(512 * kibi, typed)) { fixture in
      try fixture.expectWhole(try await fixture.finish(try fixture.file()))
    }
  }

  private func expect(
    _ outcome: DownloadFixture.Outcome, _ fixture: DownloadFixture, isPage: Bool
  ) throws {
    guard isPage else {
      #expect(outcome.result.state == .completed)
      return
    }
    try fixture.expectFailure(outcome, .webPage)
    #expect(try fixture.names().isEmpty)
  }

  @Test(arguments: [login, .status(200, headers: [], body: ""), .rangeNotSatisfiable()])
  func `Case 32: a page, or nothing, in answer to a range only is not the file`(
    answer: Fault.Action
  ) async throws {
    try await DownloadFixture.serving(.file(512 * kibi, Fault(answer, when: .init(has: .range)))) {
      fixture in
      try fixture.expectWhole(try await fixture.finish(try fixture.file(connections: 4)))
      #expect(fixture.ranges == ["bytes=0-", "-"])
    }
  }

  @Test
  func `Case 32: a login page in answer to a resume fails, and costs none of the bytes on disk`()
    async throws
  {
    try await DownloadFixture.serving(.file(512 * kibi, VersionCases.half)) { fixture in
      let request = try fixture.file { $0.checksums = rightChecksums() }
      try await fixture.interrupt(request)
      fixture.server.setFaults(resourcePath, [Fault(Self.login)])
      try fixture.expectFailure(try await fixture.finish(request), .changedOnServer)
      fixture.server.setFaults(resourcePath, [])
      let outcome = try await fixture.finish(request)
      try fixture.expectWhole(outcome)
      #expect(outcome.result.reused == 200 * kibi)
    }
  }

  @Test
  func `Case 32: without validators, a page does not replace a file that broke off`() async throws {
    let cut = Fault(.reset(after: 200_000), when: .request(1))
    let page = Fault(Self.login, when: .init(skip: 1))
    try await DownloadFixture.serving(NoValidatorCases.bare(cut, page)) { fixture in
      let outcome = try await fixture.finish(try fixture.file())
      try fixture.expectFailure(outcome, .changedOnServer)
      fixture.server.setFaults(resourcePath, [Fault(Self.login)])
      try fixture.expectFailure(try await fixture.finish(try fixture.file()), .changedOnServer)
      fixture.server.setFaults(resourcePath, [])
      try fixture.expectWhole(try await fixture.finish(try fixture.file()))
    }
  }

  @Test
  func `Case 32: a page does not replace bytes that the user would have compared`() async throws {
    try await DownloadFixture.serving(NoValidatorCases.bare(VersionCases.half)) { fixture in
      let request = try fixture.file { $0.allowUnverified = true }
      try await fixture.interrupt(request)
      fixture.server.setFaults(resourcePath, [Fault(Self.login)])
      try fixture.expectFailure(try await fixture.finish(request), .changedOnServer)
    }
  }

  @Test func `Case 32: a page does not replace the whole file of an earlier run`() async throws {
    try await DownloadFixture.serving(.file(512 * kibi)) { fixture in
      try fixture.expectWhole(try await fixture.finish(try fixture.file()))
      fixture.server.setFaults(resourcePath, [Fault(Self.login)])
      let refused = try await fixture.finish(try fixture.file())
      #expect(refused.result.error?.code == .webPage)
      fixture.server.setFaults(resourcePath, [])
      try fixture.expectWhole(try await fixture.finish(try fixture.file()))
      #expect(fixture.ranges.count <= 4)
    }
  }

  @Test(arguments: [true, false])
  func `Case 32: an empty answer does not cost the bytes on disk`(hasValidators: Bool) async throws
  {
    let half = VersionCases.half
    let file =
      hasValidators ? FaultScript.Resource.file(512 * kibi, half) : NoValidatorCases.bare(half)
    try await DownloadFixture.serving(file) { fixture in
      try await fixture.interrupt(try fixture.file())
      fixture.server.setFaults(resourcePath, [Fault(.status(200, headers: [], body: ""))])
      try fixture.expectFailure(try await fixture.finish(try fixture.file()), .changedOnServer)
      fixture.server.setFaults(resourcePath, [])
      try fixture.expectWhole(try await fixture.finish(try fixture.file()))
    }
  }

  @Test func `Case 32: a redirect to a page for a moment does not end a resume`() async throws {
    let portal = FaultScript.Resource("/portal", length: 1, faults: [Fault(Self.login)])
    let file = FaultScript.Resource.file(512 * kibi, VersionCases.half)
    try await DownloadFixture.with([file, portal]) { fixture in
      try await fixture.interrupt(try fixture.file())
      fixture.server.setFaults(
        resourcePath,
        [Fault(.status(302, headers: ["Location: /portal"], body: ""), when: .first(1))])
      let outcome = try await fixture.finish(try fixture.file())
      try fixture.expectWhole(outcome)
      #expect(outcome.result.reused == 200 * kibi)
    }
  }

  @Test func `Case 32: a temporary login page does not cost the bytes on disk`() async throws {
    try await DownloadFixture.serving(.file(512 * kibi, VersionCases.half)) { fixture in
      try await fixture.interrupt(try fixture.file())
      fixture.server.setFaults(resourcePath, [Fault(Self.login, when: .first(2))])
      let outcome = try await fixture.finish(try fixture.file())
      try fixture.expectWhole(outcome)
      #expect(outcome.restarts == 0)
      #expect(outcome.result.reused == 200 * kibi)
    }
  }

  @Test(arguments: [500, 503, 429])
  func `Case 32: the body of an error is never written to the file`(status: Int) async throws {
    let cut = Fault(.reset(after: 200_000), when: .request(1))
    let error = Fault(.status(status, body: "<html>try later</html>"), when: .request(2))
    try await DownloadFixture.serving(.file(512 * kibi, cut, error)) { fixture in
      let outcome = try await fixture.finish(try fixture.file())
      try fixture.expectWhole(outcome)
      #expect(outcome.attempts == 2)
      #expect(outcome.restarts == 0)
    }
  }
}
