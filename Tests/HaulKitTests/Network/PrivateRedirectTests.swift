import HaulCore
import HaulHTTP
import HaulKit
import HaulTesting
import Testing

/// Only a proxy resolves a public host here; it connects to the test server.
@Suite
struct PrivateRedirectTests {
  private static let length: Int64 = 300_000

  private func run(
    to location: (DownloadFixture) -> String, from origin: String = "public.example",
    refuses: Bool = true, _ body: (DownloadFixture, DownloadFixture.Outcome?) throws -> Void
  ) async throws {
    let resources = [
      FaultScript.Resource("/go", seed: 1, length: 10),
      FaultScript.Resource("/f.bin", seed: 53, length: Self.length),
    ]
    try await DownloadFixture.with(resources) { (fixture) async throws in
      var rules = ProxyServer.Rules()
      (rules.host, rules.port) = ("127.0.0.1", fixture.server.port)
      try await ProxyServer.with(.http, rules) { (proxy) async throws in
        fixture.server.setFaults("/go", [Fault(.redirect(location: location(fixture)))])
        let url = try ResourceURL("http://\(origin):\(fixture.server.port)/go")
        let request = try fixture.request("/f.bin") { $0.url = url }
        let proxies = ProxyRules(
          try ProxyRules.Proxy("http://127.0.0.1:\(proxy.port)"),
          exceptions: "127.0.0.1,inner.example,localhost,0.0.0.0,::ffff:127.0.0.1")
        let outcome = try await fixture.run(
          request,
          configure: { configuration in
            configuration.proxies = proxies
            configuration.addresses = ["inner.example": "127.0.0.1"]
            configuration.refusesPrivateRedirects = refuses
          })
        try body(fixture, outcome)
      }
    }
  }

  @Test(arguments: ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "inner.example", "0.0.0.0"])
  func `is refused by address and by name, before a request is sent`(host: String) async throws {
    try await run(to: { "http://\(host):\($0.server.port)/f.bin" }) { fixture, outcome in
      #expect(outcome?.result.error?.code == .redirectRefused)
      #expect(outcome?.result.error?.message.contains("private address") == true)
      #expect(fixture.server.snapshot.requestCount("/f.bin") == 0)
    }
  }

  @Test func `is refused from a host that was private before, and once was public`() throws {
    let registry = PrivateHostRegistry()
    let origin = try ResourceURL("http://A.example/").origin
    #expect(registry.isPublic(origin))
    registry.note("a.example", isPublic: false)
    #expect(!registry.isPublic(origin))
    registry.note("a.example", isPublic: true)
    registry.note("a.example", isPublic: false)
    #expect(registry.isPublic(origin))
  }

  @Test func `is refused from a host that names itself only once it was public`() throws {
    let registry = PrivateHostRegistry()
    let (own, other) = (
      try ResourceURL("http://A.example/").origin, try ResourceURL("http://b.example/").origin
    )
    // After a restart it may have been private from the start.
    #expect(!registry.mustBePublic(own, namedBy: own))
    registry.note("a.example", isPublic: false)
    #expect(!registry.mustBePublic(own, namedBy: own))
    registry.note("a.example", isPublic: true)
    registry.note("a.example", isPublic: false)
    #expect(registry.mustBePublic(own, namedBy: own))
    #expect(registry.mustBePublic(other, namedBy: own))
    registry.note("b.example", isPublic: false)
    #expect(!registry.mustBePublic(own, namedBy: other))
  }

  @Test(arguments: [true, false])
  func `is followed if it is allowed, or from a private host`(fromPrivate: Bool) async throws {
    try await run(
      to: { "http://inner.example:\($0.server.port)/f.bin" },
      from: fromPrivate ? "127.0.0.1" : "public.example", refuses: fromPrivate
    ) { fixture, outcome in
      try fixture.expectWhole("go", seed: 53, length: Int(Self.length), outcome)
    }
  }
}
