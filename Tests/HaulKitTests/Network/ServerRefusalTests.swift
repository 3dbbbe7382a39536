import FoundationEssentials
import HaulCore
import HaulKit
import HaulTesting
import Testing

@Suite struct ServerRefusalTests {
  private func finish(
    _ fault: Fault, _ change: (inout DownloadRequest) -> Void = { _ in },
    _ check: (DownloadFixture, DownloadFixture.Outcome) throws -> Void
  ) async throws {
    let resource = FaultScript.Resource("/f.bin", seed: 40, length: 100_000, faults: [fault])
    try await DownloadFixture.with([resource]) { fixture in
      try check(fixture, try await fixture.finish(try fixture.request("/f.bin", change)))
    }
  }

  @Test(arguments: [
    Fault.Action.retryLater(status: 429, seconds: 0), .retryLater(seconds: 0),
    .retryLater(seconds: -100, asDate: true), .retryLater(status: 429, seconds: 1),
    .retryLater(seconds: 1, asDate: true),
  ])
  func `Retry-After is read in seconds or as a date, also one in the past`(
    answer: Fault.Action
  ) async throws {
    try await finish(Fault(answer, when: .request(1))) { fixture, outcome in
      try fixture.expectWhole("f.bin", seed: 40, length: 100_000, outcome)
      #expect(outcome.attempts == 1)
      #expect(fixture.server.snapshot.requestCount("/f.bin") == 2)
    }
  }

  @Test(
    .timeLimit(.minutes(10)),
    arguments: [false, true], [429, 503])
  func `The server gets no request until Retry-After has passed`(
    isDate: Bool, status: Int
  ) async throws {
    let busy = FaultScript.Resource(
      "/f.bin", seed: 40, length: 100_000,
      faults: [
        Fault(.retryLater(status: status, seconds: 600, asDate: isDate), when: .request(1))
      ])
    try await DownloadFixture.with([busy]) { fixture in
      let clock = ManualClock(wallStart: Date().timeIntervalSince1970)
      let (manager, end) = try fixture.manager(clock: clock)
      let transfer = try await manager.add(
        try fixture.request("/f.bin") { $0.retry.maximumTimeWithoutProgress = .seconds(7200) })
      // A date has whole seconds.
      try await until { clock.wakeUps.contains { $0 >= .seconds(590) } }
      #expect(clock.wakeUps.allSatisfy { $0 <= .milliseconds(100) || $0 >= .seconds(590) })
      clock.advance(by: .seconds(580))
      #expect(await transfer.summary?.state.isEnded == false)
      #expect(fixture.server.snapshot.requestCount("/f.bin") == 1)
      clock.advance(by: .seconds(200))
      #expect(try await transfer.result.state == .completed)
      #expect(fixture.server.snapshot.requestCount("/f.bin") == 2)
      await end()
    }
  }

  @Test(arguments: [408, 500, 502, 503, 504])
  func `A temporary server error is retried`(status: Int) async throws {
    try await finish(Fault(.status(status, body: "<html>busy</html>"), when: .request(1))) {
      fixture, outcome in
      try fixture.expectWhole("f.bin", seed: 40, length: 100_000, outcome)
      #expect(outcome.attemptCodes == [.httpStatus])
    }
  }

  @Test func `A Retry-After beyond the retry time fails the download at once`() async throws {
    try await finish(
      Fault(.retryLater(status: 429, seconds: 600)),
      { $0.retry.maximumTimeWithoutProgress = .seconds(60) }
    ) { fixture, outcome in
      try fixture.expectFailure(.rateLimited, outcome, without: "f.bin")
      #expect(outcome.result.error?.status == 429)
      #expect(outcome.attempts == 0)
    }
  }

  @Test func `An unreadable Retry-After is ignored`() async throws {
    let fault = Fault(.status(503, headers: ["Retry-After: when it suits"]), when: .request(1))
    try await finish(fault) { fixture, outcome in
      try fixture.expectWhole("f.bin", seed: 40, length: 100_000, outcome)
      #expect(outcome.attempts == 1)
    }
  }

  @Test func `A huge Retry-After fails the download at once`() async throws {
    let fault = Fault(.status(503, headers: ["Retry-After: 99999999999999999999"]))
    try await finish(fault, { $0.retry.maximumTimeWithoutProgress = .seconds(86_400) }) {
      fixture, outcome in
      try fixture.expectFailure(.httpStatus, outcome, without: "f.bin")
      #expect(outcome.attempts == 0)
    }
  }

  @Test(arguments: [401, 403, 410])
  func `A link that expires midway is resolved once more, and the download resumes`(
    status: Int
  ) async throws {
    let signed = FaultScript.Resource(
      "/signed", seed: 42, length: 600_000,
      faults: [
        Fault(.reset(after: 300_000), when: .request(1)), Fault(.status(status), when: .request(2)),
      ])
    try await DownloadFixture.with([signed, .redirecting("/start", to: "/signed?s=1")]) { fixture in
      let outcome = try await fixture.finish(
        try fixture.request("/start", as: "f.bin") { $0.connections = 1 })
      try fixture.expectWhole("f.bin", seed: 42, length: 600_000, outcome)
      #expect(outcome.restarts == 0)
      #expect(fixture.server.snapshot.requestCount("/start") == 2)
      let last = try #require(fixture.server.snapshot.requests("/signed").last?.range)
      #expect(last != "bytes=0-", "the bytes on disk are not downloaded again")
    }
  }

  @Test func `A permanently expired link fails with needsNewURL, and a new link resumes`()
    async throws
  {
    let signed = FaultScript.Resource(
      "/signed", seed: 42, length: 600_000,
      faults: [
        Fault(.reset(after: 300_000), when: .request(1)), Fault(.status(403), when: .init(skip: 1)),
      ])
    try await DownloadFixture.with([signed]) { fixture in
      let first = try await fixture.finish(
        try fixture.request("/signed?sig=old", as: "f.bin") { $0.connections = 1 })
      try fixture.expectFailure(.needsNewURL, first, without: "f.bin")
      #expect(try fixture.names() == ["f.bin.haul.journal", "f.bin.haul.part"])
      fixture.server.setFaults("/signed", [])
      let second = try await fixture.finish(try fixture.request("/signed?sig=new", as: "f.bin"))
      try fixture.expectWhole("f.bin", seed: 42, length: 600_000, second)
      #expect(second.result.reused > 0)
      #expect(second.restarts == 0)
    }
  }

  @Test(arguments: [
    (401, TransferError.Code.unauthorized), (403, .forbidden), (404, .notFound), (410, .notFound),
  ])
  func `A refused address without redirects fails at once with the code of its status`(
    status: Int, code: TransferError.Code
  ) async throws {
    try await finish(Fault(.status(status, body: "<html>no</html>"))) { fixture, outcome in
      try fixture.expectFailure(code, outcome, without: "f.bin")
      #expect(outcome.result.error?.status == status)
      #expect(outcome.attempts == 0)
      #expect(try fixture.names().isEmpty)
    }
  }
}
