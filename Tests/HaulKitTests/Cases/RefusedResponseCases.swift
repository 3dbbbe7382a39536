import HaulCore
import HaulKit
import HaulTesting
import Testing

@Suite("Answers that are not the file")
struct RefusedResponseCases {
  @Test("Case 29: a multipart body is never written; the whole file is requested instead")
  func multipart() async throws {
    try await DownloadFixture.serving(.file(512 * kibi, Fault(.multipart))) { bench in
      let outcome = try await bench.finish(try bench.file(connections: 4))
      try bench.expectWhole(outcome)
      #expect(bench.ranges == ["bytes=0-", "-"])
    }
  }

  @Test("Case 30: a 206 to a request without a range is refused")
  func unaskedPartial() async throws {
    let unreadable = Fault(.contentRange(value: nil), when: .init(has: .range))
    let unasked = Fault(.unaskedPartial, when: .init(has: .neither))
    try await DownloadFixture.serving(.file(512 * kibi, unreadable, unasked)) { bench in
      let outcome = try await bench.finish(try bench.file())
      try bench.expectFailure(outcome, .protocolViolation)
      #expect(bench.ranges == ["bytes=0-", "-"])
    }
  }

  @Test(
    "Case 31: a status without a file is an error, not an empty file",
    arguments: [201, 202, 204, 205, 300, 301, 302, 303, 304, 307, 308])
  func noFile(status: Int) async throws {
    try await DownloadFixture.serving(.file(512 * kibi, Fault(.status(status)))) { bench in
      let outcome = try await bench.finish(try bench.file())
      try bench.expectFailure(outcome, .httpStatus)
      #expect(outcome.result.error?.status == status)
      #expect(bench.requests.count == 1)
      #expect(try bench.names().isEmpty)
    }
  }

  static let login = Fault.Action.status(
    200, headers: ["Content-Type: text/html"], body: "<html>Please log in</html>")

  @Test("Case 32: a login page instead of the file fails by its digest, in a first run")
  func loginPage() async throws {
    try await DownloadFixture.serving(.file(512 * kibi, Fault(Self.login))) { bench in
      let outcome = try await bench.finish(try bench.file { $0.checksums = rightChecksums() })
      try bench.expectFailure(outcome, .checksumMismatch)
    }
  }

  @Test("Case 32: a login page in answer to a resume fails by its digest, and is never published")
  func loginPageOnResume() async throws {
    try await DownloadFixture.serving(.file(512 * kibi, VersionCases.half)) { bench in
      let request = try bench.file { $0.checksums = rightChecksums() }
      try await bench.interrupt(request)
      bench.server.setFaults(resourcePath, [Fault(Self.login)])
      try bench.expectFailure(try await bench.finish(request), .checksumMismatch)
      bench.server.setFaults(resourcePath, [])
      try bench.expectWhole(try await bench.finish(request))
    }
  }

  @Test("Case 32: a temporary login page does not cost the bytes on disk")
  func loginPageForAMoment() async throws {
    try await DownloadFixture.serving(.file(512 * kibi, VersionCases.half)) { bench in
      try await bench.interrupt(try bench.file())
      bench.server.setFaults(resourcePath, [Fault(Self.login, when: .first(2))])
      let outcome = try await bench.finish(try bench.file())
      try bench.expectWhole(outcome)
      #expect(outcome.restarts == 0)
      #expect(outcome.result.reused == 200 * kibi)
    }
  }

  @Test("Case 32: the body of an error is never written to the file", arguments: [500, 503, 429])
  func errorBody(status: Int) async throws {
    let cut = Fault(.reset(after: 200_000), when: .request(1))
    let error = Fault(.status(status, body: "<html>try later</html>"), when: .request(2))
    try await DownloadFixture.serving(.file(512 * kibi, cut, error)) { bench in
      let outcome = try await bench.finish(try bench.file())
      try bench.expectWhole(outcome)
      #expect(outcome.attempts == 2)
      #expect(outcome.restarts == 0)
    }
  }
}
