import FoundationEssentials
import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Case 45: secrets that must stay within one scheme, host and port.
@Suite struct SecretTests {
  private static let secrets: HeaderFields = [
    "Authorization": "Bearer canary-1", "Cookie": "id=canary-2", "X-Api-Key": "canary-3",
  ]
  private static let basic = Data("user:canary-4".utf8).base64EncodedString()
  private static let file = FaultScript.Resource("/file.bin", seed: 45, length: 2 << 20)

  /// The fields of these requests that contain a canary.
  private func leaked(_ requests: [RequestRecord]) -> [String] {
    requests.flatMap(\.headerLines).filter { $0.contains("canary") || $0.contains(Self.basic) }
  }

  /// Four connections, each with one reset, to check first requests, additional ranges and retries.
  private func change(_ request: inout DownloadRequest) {
    request.headers = Self.secrets
    request.connections = 4
  }

  private func withUserInformation(
    _ request: DownloadRequest, _ path: String, _ fixture: DownloadFixture
  ) throws -> DownloadRequest {
    var copy = request
    copy.url = try ResourceURL(
      fixture.server.url(path).replacing("://", with: "://user:canary-4@"))
    return copy
  }

  private static let flaky = file.with {
    $0.faults = [Fault(.reset(after: 100_000), when: .init(times: 3))]
  }

  @Test(arguments: [false, true])
  func `No secret is sent to another port`(isInURL: Bool) async throws {
    try await withFaultServer(FaultScript([Self.flaky])) { other in
      try await DownloadFixture.with([.redirecting("/start", to: other.url("/file.bin"))]) {
        fixture in
        var request = try fixture.request("/start", as: "f.bin") { change(&$0) }
        if isInURL {
          request.headers = []
          request = try withUserInformation(request, "/start", fixture)
        }
        let outcome = try await fixture.finish(request)
        try fixture.expectWhole("f.bin", seed: 45, length: 2 << 20, outcome)
        #expect(other.snapshot.requests.count > 4)
        #expect(leaked(other.snapshot.requests).isEmpty)
        #expect(!leaked(fixture.server.snapshot.requests).isEmpty, "the origin got the canaries")
      }
    }
  }

  @Test func `No secret is sent to another host`() async throws {
    try await DownloadFixture.with([
      .redirecting("/start", to: "http://localhost:{port}/file.bin"), Self.flaky,
    ]) { fixture in
      let request = try fixture.request("/start", as: "f.bin") { change(&$0) }
      let outcome = try await fixture.finish(try withUserInformation(request, "/start", fixture))
      try fixture.expectWhole("f.bin", seed: 45, length: 2 << 20, outcome)
      #expect(leaked(fixture.server.snapshot.requests("/file.bin")).isEmpty)
      #expect(!leaked(fixture.server.snapshot.requests("/start")).isEmpty)
    }
  }

  @Test func `No secret is sent to another scheme`() async throws {
    try await withFaultServer(FaultScript([Self.flaky]), tls: .good) { other in
      try await DownloadFixture.with([.redirecting("/start", to: other.url("/file.bin"))]) {
        fixture in
        let authority = fixture.path("other.pem")
        try other.certificateAuthorityPEM.write(
          toFile: authority, atomically: true, encoding: .utf8)
        let request = try fixture.request("/start", as: "f.bin") { change(&$0) }
        let outcome = try await fixture.run(
          request, configure: { $0.certificateAuthorities = authority })
        try fixture.expectWhole("f.bin", seed: 45, length: 2 << 20, outcome)
        #expect(leaked(other.snapshot.requests).isEmpty)
      }
    }
  }

  @Test func `A redirect out of the origin and back sends no secret outside`() async throws {
    try await withFaultServer(FaultScript()) { other in
      try await DownloadFixture.with([.redirecting("/start", to: other.url("/away")), Self.flaky]) {
        fixture in
        other.add(.redirecting("/away", to: fixture.server.url("/file.bin")))
        let request = try fixture.request("/start", as: "f.bin") { change(&$0) }
        let outcome = try await fixture.finish(request)
        try fixture.expectWhole("f.bin", seed: 45, length: 2 << 20, outcome)
        #expect(leaked(other.snapshot.requests).isEmpty)
      }
    }
  }

  @Test func `Within one origin every request has the secrets, even after a redirect`() async throws
  {
    try await DownloadFixture.with([.redirecting("/start", to: "/file.bin"), Self.flaky]) {
      fixture in
      let request = try fixture.request("/start", as: "f.bin") { change(&$0) }
      let outcome = try await fixture.finish(request)
      try fixture.expectWhole("f.bin", seed: 45, length: 2 << 20, outcome)
      for record in fixture.server.snapshot.requests {
        #expect(leaked([record]).count == 3, "\(record.target) \(record.headerLines)")
      }
    }
  }

  @Test func `User information of the address is sent to its origin, even after a redirect`()
    async throws
  {
    try await DownloadFixture.with([.redirecting("/start", to: "/file.bin"), Self.flaky]) {
      fixture in
      let request = try withUserInformation(
        try fixture.request("/start", as: "f.bin") { $0.connections = 4 }, "/start", fixture)
      let outcome = try await fixture.finish(request)
      try fixture.expectWhole("f.bin", seed: 45, length: 2 << 20, outcome)
      for record in fixture.server.snapshot.requests {
        #expect(record.headers["Authorization"] == "Basic \(Self.basic)", "\(record.target)")
      }
    }
  }

  @Test func `Journals and events contain no secret`() async throws {
    try await DownloadFixture.with([.stalling("/file.bin", seed: 45)]) { fixture in
      var request = try fixture.request("/file.bin?token=canary-5", as: "f.bin") { change(&$0) }
      request.connections = 2
      request = try withUserInformation(request, "/file.bin?token=canary-5", fixture)
      try await fixture.interrupt(request, path: "/file.bin")
      let journal = String(decoding: try fixture.contents("f.bin.haul.journal"), as: UTF8.self)
      #expect(journal.contains("/file.bin"))
      #expect(!journal.contains("canary") && !journal.contains(Self.basic))
      #expect(!"\(request.url)".contains("canary"))
    }
  }
}
