import HaulCore
import HaulFiles
import HaulHTTP
import HaulKit
import HaulTesting
import Testing

/// What servers set during a run (RFC 6265).
@Suite struct SessionCookieTests {
  private static let length = 8 << 20
  private static let page = "<html>please log in</html>"

  /// A file for those who have the cookie; the others get a page.
  private func guarded(_ cookie: String, _ more: Fault...) -> FaultScript.Resource {
    FaultScript.Resource("/real", seed: 47, length: Int64(Self.length)).with {
      $0.faults = [Fault(.status(200, body: Self.page), when: .init(withoutText: cookie))] + more
    }
  }

  private func setting(_ cookie: String, to location: String) -> FaultScript.Resource {
    FaultScript.Resource("/f.bin", length: 0).with {
      $0.faults = [
        Fault(.status(302, headers: ["Location: \(location)", "Set-Cookie: \(cookie)"]))
      ]
    }
  }

  @Test func `The cookie of a redirect is sent with every further request, on all connections`()
    async throws
  {
    let resources = [setting("sid=42; Path=/", to: "/real"), guarded("sid=42", .firstHeld)]
    try await DownloadFixture.with(resources) { fixture in
      let request = try fixture.request("/f.bin") {
        ($0.connections, $0.minimumSplit) = (4, 1 << 20)
      }
      let outcome = try await fixture.finishWithTwo(request, path: "/real")
      try fixture.expectWhole("f.bin", seed: 47, length: Self.length, outcome)
      let asked = fixture.server.snapshot.requests.filter { $0.path == "/real" }
      #expect(asked.count > 1)
      #expect(asked.allSatisfy { $0.header("Cookie") == "sid=42" })
    }
  }

  @Test func `The same address again with a new cookie is no loop`() async throws {
    let set = Fault(
      .status(302, headers: ["Location: /real", "Set-Cookie: seen=1"]),
      when: .init(withoutText: "seen=1"))
    let file = FaultScript.Resource("/real", seed: 47, length: Int64(Self.length), faults: [set])
    try await DownloadFixture.with([file]) { fixture in
      let outcome = try await fixture.finish(try fixture.request("/real"))
      try fixture.expectWhole("real", seed: 47, length: Self.length, outcome)
    }
  }

  @Test func `A way back to the first address with a new cookie is no loop`() async throws {
    let away = Fault(
      .status(302, headers: ["Location: /f.bin"]), when: .init(withoutText: "seen=1"))
    let file = FaultScript.Resource("/real", seed: 47, length: Int64(Self.length), faults: [away])
    try await DownloadFixture.with([file, setting("seen=1", to: "/real")]) { fixture in
      let outcome = try await fixture.finish(try fixture.request("/real"))
      try fixture.expectWhole("real", seed: 47, length: Self.length, outcome)
    }
  }

  @Test func `The same address again with the same cookie is a loop`() async throws {
    try await DownloadFixture.with([setting("seen=1", to: "/f.bin")]) { fixture in
      let outcome = try await fixture.finish(try fixture.request("/f.bin"))
      try fixture.expectFailure(.tooManyRedirects, outcome, without: "f.bin")
      // As often without a range.
      #expect(fixture.server.snapshot.requests.count == 42)
    }
  }

  @Test func `A cookie does not go to another host, or back to none`() async throws {
    try await DownloadFixture.with([
      FaultScript.Resource("/real", seed: 47, length: Int64(Self.length))
    ]) { fixture in
      let start = setting("sid=canary; Path=/; Domain=localhost", to: fixture.server.url("/real"))
      try await withFaultServer(FaultScript([start])) { first in
        let request = try fixture.request("/f.bin") {
          $0.url = try ResourceURL(first.url("/f.bin", host: "localhost"))
        }
        let outcome = try await fixture.finish(request)
        try fixture.expectWhole("f.bin", seed: 47, length: Self.length, outcome)
        let lines = fixture.server.snapshot.requests.flatMap(\.headerLines)
        #expect(!lines.contains { $0.contains("canary") })
      }
    }
  }

  @Test func `Each transfer has a session of its own, unless all share one`() async throws {
    let sets = FaultScript.Resource("/login", seed: 1, length: 10).with {
      $0.headers = ["Set-Cookie: sid=42; Path=/"]
    }
    for isShared in [false, true] {
      try await DownloadFixture.with([sets, guarded("sid=42")]) { fixture in
        try await fixture.withManager({ $0.session = isShared ? RunSession() : nil }) { manager in
          _ = try await fixture.finish(try fixture.request("/login"), with: manager)
          _ = try await fixture.finish(try fixture.request("/real"), with: manager)
        }
        let cookies = fixture.server.snapshot.requests.filter { $0.path == "/real" }
          .map { $0.header("Cookie") }
        #expect(cookies.allSatisfy { ($0 == "sid=42") == isShared })
      }
    }
  }

  @Test func `The cookies of a transfer are forgotten when its run has ended`() async throws {
    let file = FaultScript.Resource("/f.bin", seed: 47, length: 300_000).with {
      $0.faults = [Fault(.status(404, headers: ["Set-Cookie: sid=42; Path=/"]))]
    }
    try await DownloadFixture.with([file]) { fixture in
      try await fixture.withManager { manager in
        let request = try fixture.request("/f.bin") { $0.retry.retries = 0 }
        let transfer = try await manager.add(TransferRequest(.download(request)))
        await #expect(throws: TransferError.self) { try await transfer.result }
        let asked = fixture.server.snapshot.requests.count
        fixture.server.setFaults("/f.bin", [])
        try await transfer.retry()
        #expect(try await transfer.result.state == .completed)
        let later = fixture.server.snapshot.requests.dropFirst(asked)
        #expect(!later.isEmpty && later.allSatisfy { $0.header("Cookie") == nil })
      }
    }
  }

  @Test(arguments: ["cancel", "keep", "remove"])
  func `The cookies of a paused transfer are forgotten with it`(command: String) async throws {
    let file = FaultScript.Resource("/f.bin", seed: 47, length: 300_000).with {
      $0.headers = ["Set-Cookie: sid=42; Path=/"]
      $0.faults = [Fault(.stall(after: 100_000))]
    }
    try await DownloadFixture.with([file]) { fixture in
      let http = try HTTPTransport(.init())
      let engine = Engine(
        transport: http, disk: POSIXDisk(), io: .withoutThreads, clock: SystemClock(),
        configuration: try fixture.configuration(), seed: 47
      ) { http.endSession($0) }
      let manager = TransferManager(engine: engine)
      let request = TransferRequest(.download(try fixture.request("/f.bin")))
      let transfer = try await manager.add(request)
      try await fixture.server.waitForHeld("/f.bin")
      try await until { http.heldCookies.sessions == 1 }
      _ = try await manager.pause(.ids([transfer.id]))
      #expect(http.heldCookies.sessions == 1)
      switch command {
      case "remove": _ = try await manager.remove(.ids([transfer.id]))
      case let command:
        _ = try await manager.cancel(.ids([transfer.id]), keepingBytes: command == "keep")
      }
      #expect(http.heldCookies == (0, 0))
      await manager.shutdown()
      await http.shutdown()
    }
  }

  @Test func `Of too many bytes, the cookies of the session that was used first are forgotten`()
    async throws
  {
    let file = FaultScript.Resource("/f.bin", seed: 47, length: 10).with {
      $0.headers = ["Set-Cookie: sid=\(String(repeating: "x", count: 1000)); Path=/"]
    }
    try await DownloadFixture.with([file]) { fixture in
      var settings = HTTPTransport.Settings()
      settings.cookieBytes = 2500
      let transport = try HTTPTransport(settings)
      let ids = try (1...3).map { try #require(TransferID(bits: $0)) }
      for id in ids + ids.suffix(2) {
        var request = FetchRequest(url: try ResourceURL(fixture.server.url("/f.bin")))
        request.session = id
        _ = try await transport.fetch(request)
      }
      let sent = fixture.server.snapshot.requests.map { $0.header("Cookie") != nil }
      #expect(sent == [false, false, false, true, true])
      #expect(transport.heldCookies.sessions == 2)
      #expect((2000...2500).contains(transport.heldCookies.bytes))
      for id in ids { transport.endSession(id) }
      #expect(transport.heldCookies == (0, 0))
      await transport.shutdown()
    }
  }

  @Test func `The user's own entry of a host that a server names is used there, and no other`()
    async throws
  {
    let denied = Fault(
      .status(401, headers: ["WWW-Authenticate: Basic realm=x"]),
      when: .init(withoutText: "Authorization: Basic dTI6cDI="))
    let file = FaultScript.Resource("/real", seed: 47, length: 300_000, faults: [denied])
    try await DownloadFixture.with([file]) { fixture in
      let start = FaultScript.Resource.redirecting("/f.bin", to: fixture.server.url("/real"))
      try await withFaultServer(FaultScript([start])) { first in
        let request = try fixture.request("/f.bin") {
          $0.url = try ResourceURL(
            first.url("/f.bin", host: "localhost").replacing("://", with: "://u1:p1@"))
          ($0.connections, $0.minimumSplit) = (2, 64 << 10)
        }
        var session = RunSession()
        session.logins = ["127.0.0.1": .init(user: "u2", password: "p2")]
        let outcome = try await fixture.run(request, configure: { $0.session = session })
        try fixture.expectWhole("f.bin", seed: 47, length: 300_000, outcome)
        let second = fixture.server.snapshot.requests.flatMap(\.headerLines)
        #expect(!second.contains { $0.contains("dTE6cDE=") })
        #expect(
          first.snapshot.requests.allSatisfy { $0.header("Authorization") == "Basic dTE6cDE=" })
      }
    }
  }
}
