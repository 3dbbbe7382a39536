import FoundationEssentials
import HaulCore
import HaulHTTP
import HaulKit
import HaulTesting
import Testing

/// Digest authentication (RFC 7616) by a server and by a proxy.
@Suite struct DigestTests {
  private static let length = 4 << 20
  private static let credentials = ResourceURL.Credentials(user: "me", password: "canary")

  private static func challenge(_ more: String, nonce: String = "n1") -> String {
    "Digest realm=\"a, b\", nonce=\"\(nonce)\", qop=\"auth\"\(more)"
  }

  private static func denied(_ value: String, unless text: String) -> Fault {
    Fault(.status(401, headers: ["WWW-Authenticate: \(value)"]), when: .init(withoutText: text))
  }

  private func file(_ faults: Fault...) -> FaultScript.Resource {
    FaultScript.Resource("/f.bin", seed: 48, length: Int64(Self.length), faults: faults)
  }

  private func request(
    _ fixture: DownloadFixture, _ path: String = "/f.bin"
  ) throws -> DownloadRequest {
    try fixture.request(path) {
      $0.url = try ResourceURL(
        fixture.server.url(path).replacing("://", with: "://me:canary@"))
      ($0.connections, $0.minimumSplit) = (4, 512 << 10)
    }
  }

  /// The parameters of the digests that were sent.
  private func digests(_ fixture: DownloadFixture) -> [[String: String]] {
    AuthChallenge.all(
      in: HeaderFields(
        fixture.server.snapshot.requests.compactMap { record in
          record.header("Authorization").map { ("Authorization", $0) }
        }), named: "Authorization"
    ).filter { $0.scheme == "digest" }.map(\.parameters)
  }

  @Test(arguments: ["", ", algorithm=MD5", ", algorithm=SHA-256", ", algorithm=MD5-sess"])
  func `All connections answer the challenge, each with a count of its own`(
    algorithm: String
  ) async throws {
    let value = Self.challenge(algorithm)
    let denied = Self.denied(value, unless: "Digest username")
    // The first answer with bytes is held until there is another request.
    let held = Fault(.stall(after: 256 << 10), when: .request(2))
    try await DownloadFixture.with([file(denied, held)]) { fixture in
      let outcome = try await fixture.finishWithTwo(try request(fixture), path: "/f.bin", of: 3)
      try fixture.expectWhole("f.bin", seed: 48, length: Self.length, outcome)
      let sent = digests(fixture)
      #expect(sent.count > 1)
      #expect(Set(sent.map { $0["nc"] ?? "" }).count == sent.count)
      let challenge = try #require(
        DigestChallenge(
          AuthChallenge.all(in: HeaderFields([("A", value)]), named: "A")))
      for parameters in sent {
        let count = UInt32(parameters["nc"] ?? "", radix: 16) ?? 0
        let wanted = challenge.field(
          for: Self.credentials, "GET", "/f.bin", count: count,
          clientNonce: parameters["cnonce"] ?? "")
        #expect(wanted.contains("response=\"\(parameters["response"] ?? "")\""))
      }
    }
  }

  @Test func `Digest is used where Basic is offered too, and Basic never after it`() async throws {
    let fault = Self.denied(
      "Basic realm=\"x\", \(Self.challenge(""))", unless: "Digest username")
    try await DownloadFixture.with([file(fault)]) { fixture in
      let outcome = try await fixture.finish(try request(fixture))
      try fixture.expectWhole("f.bin", seed: 48, length: Self.length, outcome)
      let fields = fixture.server.snapshot.requests.compactMap { $0.header("Authorization") }
      #expect(fields.dropFirst().allSatisfy { $0.hasPrefix("Digest ") && !$0.contains("canary") })
    }
  }

  @Test func `An old nonce is replaced, and a later transfer uses the newest at once`()
    async throws
  {
    let second = Fault(
      .status(401, headers: ["WWW-Authenticate: \(Self.challenge(", stale=true", nonce: "n2"))"]),
      when: .init(withText: "nonce=\"n1\""))
    let first = Self.denied(Self.challenge(""), unless: "Digest username")
    let small = FaultScript.Resource("/s", seed: 3, length: 10, faults: [first, second])
    try await DownloadFixture.with([small]) { fixture in
      try await fixture.withManager({ _ in }) { manager in
        for name in ["a", "b"] {
          let one = try request(fixture, "/s").with {
            $0.destination = .file("\(fixture.directory)/\(name)")
          }
          let outcome = try await fixture.finish(one, with: manager)
          try fixture.expectWhole(name, seed: 3, length: 10, outcome)
        }
      }
      #expect(fixture.server.snapshot.requests.map(\.status) == [401, 401, 206, 206])
      #expect(digests(fixture).map { $0["nonce"] } == ["n1", "n2", "n2"])
    }
  }

  @Test func `A wrong password is refused after one answer`() async throws {
    let fault = Fault(.status(401, headers: ["WWW-Authenticate: \(Self.challenge(""))"]))
    try await DownloadFixture.with([file(fault)]) { fixture in
      let outcome = try await fixture.finish(try request(fixture))
      try fixture.expectFailure(.unauthorized, outcome, without: "f.bin")
      #expect(fixture.server.snapshot.requests.count == 2)
      let message = try #require(outcome.result.error?.message)
      #expect(message.contains("Digest") && !message.contains("canary"))
    }
  }

  @Test func `A challenge of another origin is not answered with the password`() async throws {
    let fault = Fault(.status(401, headers: ["WWW-Authenticate: \(Self.challenge(""))"]))
    try await DownloadFixture.with([file(fault)]) { fixture in
      let start = FaultScript.Resource.redirecting("/f.bin", to: fixture.server.url("/f.bin"))
      try await withFaultServer(FaultScript([start])) { first in
        let one = try request(fixture).with {
          $0.url = try ResourceURL(
            first.url("/f.bin", host: "localhost").replacing("://", with: "://me:canary@"))
        }
        try fixture.expectFailure(.unauthorized, try await fixture.finish(one), without: "f.bin")
        #expect(fixture.server.snapshot.requests.count == 1)
        #expect(fixture.server.snapshot.requests[0].header("Authorization") == nil)
      }
    }
  }

  @Test func `An upload is sent again with the answer`() async throws {
    let place = FaultScript.Resource("/up", length: 0).with {
      $0.faults = [
        Self.denied(Self.challenge(""), unless: "Digest username"),
        Fault(.status(201), when: .init(withText: "Digest username")),
      ]
    }
    try await DownloadFixture.with([place]) { fixture in
      let source = fixture.path("source")
      try String(repeating: "x", count: 1000).write(
        toFile: source, atomically: true, encoding: .utf8)
      let url = try ResourceURL(fixture.server.url("/up").replacing("://", with: "://me:canary@"))
      let upload = TransferRequest.upload(source, to: url) { $0.method = .put }
      let outcome = try await fixture.run(upload)
      #expect(outcome?.result.state == .completed)
      let put = fixture.server.snapshot.requests.filter { $0.method == "PUT" }
      #expect(put.map(\.status) == [401, 201])
      #expect(put.last?.bodyReceived == 1000)
      #expect(outcome?.attempts == 0)
    }
  }

  @Test func `A body that can't be read twice is sent once, after a question`() async throws {
    let place = FaultScript.Resource("/up", length: 0).with {
      $0.faults = [
        Self.denied(Self.challenge(""), unless: "Digest username"),
        Fault(.status(201), when: .init(withText: "Digest username")),
      ]
    }
    try await DownloadFixture.with([place]) { fixture in
      let message = SendRequest(
        "PUT", try ResourceURL(fixture.server.url("/up").replacing("://", with: "://me:canary@")),
        body: CollectedBody(chunks: [Array("once".utf8)]), length: nil)
      let transport = try HTTPTransport(HTTPTransport.Settings())
      let response = try await transport.send(message)
      await transport.shutdown()
      #expect(response.head.status == 201)
      let requests = fixture.server.snapshot.requests
      #expect(requests.map(\.method) == ["HEAD", "HEAD", "PUT"])
      #expect(requests.last?.body == Array("once".utf8))
    }
  }

  /// Downloads through a proxy that wants a text in the request.
  private func proxied(
    wanting text: String, tls: FaultServerTLS,
    _ check: (DownloadFixture, ProxyServer, DownloadFixture.Outcome?) throws -> Void
  ) async throws {
    var rules = ProxyServer.Rules()
    (rules.wantsText, rules.challenge) = (text, Self.challenge(""))
    try await DownloadFixture.with([file()], tls: tls) { fixture in
      try await ProxyServer.with(.http, rules) { proxy in
        let one = try fixture.request("/f.bin") {
          $0.url = try ResourceURL(fixture.server.url("/f.bin", host: "localhost"))
        }
        let through = ProxyRules(
          try ProxyRules.Proxy("http://me:canary@127.0.0.1:\(proxy.port)"))
        try check(fixture, proxy, try await fixture.run(one, configure: { $0.proxies = through }))
      }
    }
  }

  @Test(arguments: [FaultServerTLS.none, .good])
  func `A proxy's challenge is answered, for requests and for tunnels`(
    tls: FaultServerTLS
  ) async throws {
    let text = "Proxy-Authorization: Digest username=\"me\""
    try await proxied(wanting: text, tls: tls) { fixture, proxy, outcome in
      try fixture.expectWhole("f.bin", seed: 48, length: Self.length, outcome)
      let sent = proxy.requests.map(\.fields).joined().filter { $0.contains("Digest username") }
      let authority = "localhost:\(fixture.server.port)"
      let target = tls == .none ? "http://\(authority)/f.bin" : authority
      #expect(!sent.isEmpty && sent.allSatisfy { $0.contains("uri=\"\(target)\"") })
      let lines = fixture.server.snapshot.requests.flatMap(\.headerLines)
      #expect(!lines.contains { $0.lowercased().hasPrefix("proxy-") })
    }
  }

  @Test(arguments: [FaultServerTLS.none, .good])
  func `A proxy that refuses the answer ends the transfer`(tls: FaultServerTLS) async throws {
    try await proxied(wanting: "never", tls: tls) { fixture, proxy, outcome in
      try fixture.expectFailure(.proxy, outcome, without: "f.bin")
      #expect(outcome?.result.error?.message.contains("canary") == false)
      #expect(proxy.requests.count <= 4)
      #expect(fixture.server.snapshot.requests.isEmpty)
    }
  }
}
