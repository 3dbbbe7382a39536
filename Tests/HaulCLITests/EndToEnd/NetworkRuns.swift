import Foundation
import HaulCore
import HaulTesting
import Testing

/// Network options of the real program.
@Suite struct NetworkRuns {
  @Test func `A proxy from the environment is used, and its password is never printed`()
    async throws
  {
    var rules = ProxyServer.Rules()
    rules.user = "user"
    rules.password = "hidden-word"
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      try await ProxyServer.with(.http, rules) { proxy in
        let arguments = ["get", "--json", "-v", fixture.server.url("/file.bin")]
        let right = try await fixture.haul(
          arguments,
          environment: ["http_proxy": "http://user:hidden-word@127.0.0.1:\(proxy.port)"])
        #expect(right.status == 0, "\(right.errors)")
        try fixture.expectWhole()
        #expect(!proxy.requests.isEmpty)
        let wrong = try await fixture.haul(
          arguments + ["-o", "other"],
          environment: ["ALL_PROXY": "socks5://user:hidden-word@127.0.0.1:1", "NO_PROXY": "h"])
        #expect(wrong.status == 1)
        #expect(try wrong.events().codes == ["proxy"])
        let shown = [right.output, right.errors, wrong.output, wrong.errors].joined()
        #expect(!shown.contains("hidden-word"))
      }
    }
  }

  @Test func `An unreadable proxy in the environment fails only a transfer that needs it`()
    async throws
  {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let arguments = ["get", "--json", fixture.server.url("/file.bin")]
      let needing = try await fixture.haul(
        arguments, environment: ["http_proxy": "ftp://a:hidden@b"])
      #expect(needing.status == 1)
      #expect(try needing.events().codes == ["proxy"])
      let shown = needing.output + needing.errors
      #expect(shown.contains("http_proxy") && !shown.contains("hidden"), "\(shown)")
      let other = try await fixture.haul(
        arguments,
        environment: ["https_proxy": "ftp://b", "all_proxy": "ftp://b", "no_proxy": "127.0.0.1"])
      #expect(other.status == 0, "\(other.errors)")
      try fixture.expectWhole()
    }
  }

  @Test func `Several files of one https host share one HTTP-2 connection`() async throws {
    try await withFaultServer(
      FaultScript([CommandFixture.file("/a"), CommandFixture.file("/b"), CommandFixture.file("/c")]
      ),
      tls: .good, http2: true
    ) { server in
      try await CommandFixture.with { fixture in
        let authority = fixture.path("ca.pem")
        try server.certificateAuthorityPEM.write(
          toFile: authority, atomically: true, encoding: .utf8)
        let result = try await fixture.haul(
          ["get", "--cacert", authority, "-x", "1", "--http2"]
            + ["/a", "/b", "/c"].map { server.url($0) })
        #expect(result.status == 0, "\(result.errors)")
        for name in ["a", "b", "c"] { try fixture.expectWhole(name) }
        #expect(server.snapshot.requests.allSatisfy { $0.version == .http2 })
        #expect(Set(server.snapshot.requests.map(\.connection)).count == 1)
      }
    }
  }
}
