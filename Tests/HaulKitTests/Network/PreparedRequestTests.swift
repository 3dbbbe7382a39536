import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// `TransferManager.Configuration.prepare`: a hook that signs each request and renews the token.
@Suite(.timeLimit(.minutes(10))) struct PreparedRequestTests {
  /// Creates a new token after a refusal, and records the calls.
  private final class Signer: Sendable {
    private let state = NIOLockedValueBox((asked: [OutgoingRequest](), token: 1))

    var asked: [OutgoingRequest] { state.withLockedValue { $0.asked } }

    var hook: RequestPreparation {
      { request in
        let token = self.state.withLockedValue { state in
          state.asked.append(request)
          if request.attempt > 1 { state.token += 1 }
          return state.token
        }
        return [("Authorization", "Bearer canary-\(token)"), ("X-Signed", request.address)]
      }
    }
  }

  private static let file = FaultScript.Resource("/f", seed: 3, length: 2 << 20)

  @Test func `Every request has the fields of the hook, which replace its own`() async throws {
    let signer = Signer()
    let flaky = Self.file.with {
      $0.faults = [Fault(.reset(after: 100_000), when: .init(times: 3))]
    }
    try await DownloadFixture.with([flaky]) { fixture in
      let request = try fixture.request("/f?token=1", as: "f") { request in
        request.connections = 4
        request.headers = [("authorization", "mine"), ("X-Own", "own")]
      }
      let outcome = try await fixture.run(request, configure: { $0.prepare = signer.hook })
      try fixture.expectWhole("f", seed: 3, length: 2 << 20, outcome)
      let requests = fixture.server.snapshot.requests
      // A request may be given up between the hook and the network.
      #expect(requests.count > 4 && signer.asked.count >= requests.count)
      for record in requests {
        #expect(record.headers.values(of: "Authorization") == ["Bearer canary-1"])
        #expect(record.headers["X-Own"] == "own")
        #expect(record.headers["X-Signed"] == fixture.server.url("/f?token=1"))
      }
      #expect(signer.asked.allSatisfy { $0.method == "GET" && $0.attempt == 1 })
      #expect(!"\(signer.asked.map(\.url))".contains("token=1"))
    }
  }

  @Test func `Each of many small files is signed`() async throws {
    let signer = Signer()
    let names = (0..<12).map { "f\($0)" }
    let files = names.map { FaultScript.Resource("/\($0)", seed: .of($0), length: 5000) }
    try await DownloadFixture.with(files) { fixture in
      let requests = try names.map { try fixture.request("/\($0)", as: $0) }
      let outcomes = try await fixture.withManager({ $0.prepare = signer.hook }) { manager in
        try await fixture.finishAll(requests, with: manager)
      }
      #expect(outcomes.allSatisfy { $0.result.state == .completed })
      let signed = fixture.server.snapshot.requests.map { $0.headers["Authorization"] }
      #expect(signed.count == 12 && signed.allSatisfy { $0 == "Bearer canary-1" })
    }
  }

  @Test(arguments: [401, 403])
  func `A refused request is prepared again once, without an attempt`(
    status: Int
  ) async throws {
    let signer = Signer()
    let refusing = Self.file.with { $0.faults = [Fault(.status(status), when: .request(1))] }
    try await DownloadFixture.with([refusing]) { fixture in
      let request = try fixture.request("/f", as: "f") { $0.connections = 1 }
      let outcome = try await fixture.run(request, configure: { $0.prepare = signer.hook })
      try fixture.expectWhole("f", seed: 3, length: 2 << 20, outcome)
      #expect(outcome?.attempts == 0)
      #expect(signer.asked.map(\.attempt) == [1, 2])
      #expect(
        fixture.server.snapshot.requests.map { $0.headers["Authorization"] }
          == ["Bearer canary-1", "Bearer canary-2"])
    }
  }

  @Test func `A permanently refused request fails after one renewed preparation`() async throws {
    let signer = Signer()
    let refusing = Self.file.with { $0.faults = [Fault(.status(401))] }
    try await DownloadFixture.with([refusing]) { fixture in
      let request = try fixture.request("/f", as: "f")
      let outcome = try await fixture.run(request, configure: { $0.prepare = signer.hook })
      try fixture.expectFailure(.unauthorized, outcome, without: "f")
      #expect(signer.asked.map(\.attempt) == [1, 2])
    }
  }

  @Test func `Without a hook, a refusal fails the download`() async throws {
    let refusing = Self.file.with { $0.faults = [Fault(.status(401), when: .request(1))] }
    try await DownloadFixture.with([refusing]) { fixture in
      try fixture.expectFailure(.unauthorized, try await fixture.finish(try fixture.request("/f")))
      #expect(fixture.server.snapshot.requests.count == 1)
    }
  }

  @Test func `An error of the hook fails the attempt, and its text is not shown`() async throws {
    struct Failure: Error { let secret = "canary-9" }
    try await DownloadFixture.with([Self.file]) { fixture in
      let request = try fixture.request("/f", as: "f") { $0.retry.retries = 0 }
      let outcome = try await fixture.run(
        request, configure: { $0.prepare = { _ in throw Failure() } })
      try fixture.expectFailure(.unauthorized, outcome, without: "f")
      #expect(outcome.map { !"\($0)".contains("canary") } == true)
      #expect(fixture.server.snapshot.requests.isEmpty)
      let own = try await fixture.run(
        request, configure: { $0.prepare = { _ in throw TransferError(.forbidden, "no seat") } })
      try fixture.expectFailure(.forbidden, own, without: "f")
    }
  }

  @Test func `The hook's fields stay within the origin, and are not stored`() async throws {
    let signer = Signer()
    try await withFaultServer(FaultScript([Self.file])) { other in
      try await DownloadFixture.with([
        .redirecting("/start", to: other.url("/f")), .stalling("/held", seed: 4),
      ]) { fixture in
        let request = try fixture.request("/start", as: "f")
        let outcome = try await fixture.run(request, configure: { $0.prepare = signer.hook })
        try fixture.expectWhole("f", seed: 3, length: 2 << 20, outcome)
        let lines: [String] = other.snapshot.requests.flatMap(\.headerLines)
        #expect(!lines.isEmpty && lines.allSatisfy { !$0.contains("canary") })
        #expect(
          fixture.server.snapshot.requests.allSatisfy {
            $0.headers["Authorization"] == "Bearer canary-1"
          })
        let server = fixture.server
        let held = try fixture.request("/held", as: "h") { $0.connections = 2 }
        let stopped = try await fixture.run(
          held, configure: { $0.prepare = signer.hook },
          interruption: { try await server.waitForHeld("/held", count: 2) })
        #expect(stopped == nil)
        let journal = String(decoding: try fixture.contents("h.haul.journal"), as: UTF8.self)
        #expect(journal.contains("/held") && !journal.contains("canary"))
      }
    }
  }

  @Test func `A pause does not wait for a running hook`() async throws {
    try await DownloadFixture.with([Self.file]) { fixture in
      // It stands still, so only cancellation ends waits.
      let clock = ManualClock()
      let hook: RequestPreparation = { _ in
        try await clock.wait(.seconds(1))
        return []
      }
      let stopped = try await fixture.run(
        try fixture.request("/f", as: "f"), configure: { $0.prepare = hook },
        interruption: { try await until { clock.sleeperCount > 0 } })
      #expect(stopped == nil)
    }
  }
}
