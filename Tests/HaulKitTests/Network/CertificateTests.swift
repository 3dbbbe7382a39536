import FoundationEssentials
import HaulCore
import HaulHTTP
import HaulKit
import HaulTesting
import Testing

@Suite struct CertificateTests {
  private static let file = FaultScript.Resource("/f.bin", seed: 54, length: 300_000)

  @Test(arguments: [FaultServerTLS.expired, .notYetValid, .selfSigned, .wrongHost, .tls11Only])
  func `An invalid certificate or TLS version fails at once and permanently`(
    kind: FaultServerTLS
  ) async throws {
    try await DownloadFixture.with([Self.file], tls: kind) { fixture in
      let outcome = try await fixture.finish(try fixture.request("/f.bin"))
      try fixture.expectFailure(.tls, outcome)
      #expect(outcome.result.error?.isRetryable == false)
      #expect(outcome.attempts == 0)
      #expect(fixture.server.snapshot.requests.isEmpty)
      #expect(try fixture.names().isEmpty)
    }
  }

  @Test(
    arguments: [
      (FaultServerTLS.expired, "expired on", nil), (.notYetValid, "is not valid before", nil),
      (.selfSigned, "is self-signed", .certificateAuthority),
      (.wrongHost, "is not for this host", nil), (.tls11Only, "older versions of TLS", nil),
      (.otherCipher, "no TLS version or cipher in common with haul, or", .clientCertificate),
    ] as [(FaultServerTLS, String, TransferError.Remedy?)])
  func `The message says what is wrong with a certificate`(
    kind: FaultServerTLS, text: String, remedy: TransferError.Remedy?
  ) async throws {
    try await DownloadFixture.with([Self.file], tls: kind) { fixture in
      let outcome = try await fixture.finish(try fixture.request("/f.bin"))
      let error = try #require(outcome.result.error)
      #expect(error.message.contains(text), "\(error.message)")
      #expect(error.remedy == remedy)
    }
  }

  @Test func `An unknown certificate authority fails at once`() async throws {
    try await DownloadFixture.with([Self.file], tls: .good) { fixture in
      let outcome = try await fixture.run(
        try fixture.request("/f.bin"), configure: { $0.certificateAuthorities = nil })
      try fixture.expectFailure(.tls, outcome)
      #expect(outcome?.attempts == 0)
      #expect(fixture.server.snapshot.requests.isEmpty)
    }
  }

  @Test func `A certificate is refused if another authority is configured`() async throws {
    try await DownloadFixture.with([Self.file], tls: .good) { fixture in
      let other = fixture.path("other.pem")
      try CertificateAuthority().pem.write(toFile: other, atomically: true, encoding: .utf8)
      let outcome = try await fixture.run(
        try fixture.request("/f.bin"), configure: { $0.certificateAuthorities = other })
      try fixture.expectFailure(.tls, outcome)
    }
  }

  @Test(arguments: ["127.0.0.1", "localhost"])
  func `A valid certificate is trusted with the file of its authority`(
    host: String
  ) async throws {
    try await DownloadFixture.with([Self.file], tls: .good) { fixture in
      var request = try fixture.request("/f.bin")
      request.url = try ResourceURL(fixture.server.url("/f.bin", host: host))
      try fixture.expectWhole("f.bin", seed: 54, length: 300_000, try await fixture.finish(request))
    }
  }

  @Test(arguments: [FaultServerTLS.expired, .selfSigned, .wrongHost])
  func `With allowInsecure, no connection is verified`(
    kind: FaultServerTLS
  ) async throws {
    try await DownloadFixture.with([Self.file], tls: kind) { fixture in
      let outcome = try await fixture.finish(
        try fixture.request("/f.bin") {
          $0.allowInsecure = true
          $0.connections = 4
        })
      try fixture.expectWhole("f.bin", seed: 54, length: 300_000, outcome)
    }
  }

  @Test func `With allowInsecure, TLS 1.1 is still refused`() async throws {
    try await DownloadFixture.with([Self.file], tls: .tls11Only) { fixture in
      let outcome = try await fixture.finish(
        try fixture.request("/f.bin") { $0.allowInsecure = true })
      try fixture.expectFailure(.tls, outcome)
    }
  }

  @Test func `A redirect to another origin is verified despite allowInsecure`() async throws {
    try await withFaultServer(FaultScript([Self.file]), tls: .selfSigned) { other in
      let start = FaultScript.Resource.redirecting("/start", to: other.url("/f.bin"))
      try await DownloadFixture.with([start], tls: .selfSigned) { fixture in
        let request = try fixture.request("/start", as: "f.bin") { $0.allowInsecure = true }
        try fixture.expectFailure(.tls, try await fixture.finish(request), without: "f.bin")
        #expect(fixture.server.snapshot.requestCount("/start") == 1)
        #expect(other.snapshot.requests.isEmpty)
      }
    }
  }

  @Test func `A redirect within the origin keeps allowInsecure`() async throws {
    try await DownloadFixture.with(
      [.redirecting("/start", to: "/f.bin"), Self.file], tls: .selfSigned
    ) { fixture in
      let request = try fixture.request("/start", as: "f.bin") { $0.allowInsecure = true }
      try fixture.expectWhole("f.bin", seed: 54, length: 300_000, try await fixture.finish(request))
    }
  }

  @Test func `The allowInsecure option applies to one transfer only`() async throws {
    try await DownloadFixture.with([Self.file], tls: .selfSigned) { fixture in
      _ = try await fixture.finish(
        try fixture.request("/f.bin", as: "first") { $0.allowInsecure = true })
      let second = try await fixture.finish(try fixture.request("/f.bin", as: "second"))
      try fixture.expectFailure(.tls, second, without: "second")
    }
  }

  @Test(arguments: [TransferManager.Configuration.HTTPVersion.http1, .http2])
  func `A certificate for an IP address is not valid for a host name`(
    version: TransferManager.Configuration.HTTPVersion
  ) async throws {
    try await DownloadFixture.with([Self.file], tls: .addressOnly, http2: true) { fixture in
      var named = try fixture.request("/f.bin", as: "named")
      named.url = try ResourceURL(fixture.server.url("/f.bin", host: "localhost"))
      let outcome = try await fixture.run(named, configure: { $0.httpVersion = version })
      try fixture.expectFailure(.tls, outcome, without: "named")
      #expect(outcome?.attempts == 0)
      #expect(fixture.server.snapshot.requests.isEmpty)

      let addressed = try await fixture.run(
        try fixture.request("/f.bin"), configure: { $0.httpVersion = version })
      try fixture.expectWhole("f.bin", seed: 54, length: 300_000, addressed)
    }
  }

  @Test(
    arguments: [TransferManager.Configuration.HTTPVersion.http1, .http2], ["localhost", "f.test"])
  func `A wildcard without two labels after it is no name of a host`(
    version: TransferManager.Configuration.HTTPVersion, host: String
  ) async throws {
    try await DownloadFixture.with([Self.file], tls: .bareWildcard, http2: true) { fixture in
      let request = try fixture.request("/f.bin") {
        $0.url = try ResourceURL(fixture.server.url("/f.bin", host: host))
      }
      let outcome = try await fixture.run(
        request,
        configure: {
          $0.httpVersion = version
          $0.addresses = ["f.test": "127.0.0.1"]
        })
      try fixture.expectFailure(.tls, outcome, without: "f.bin")
      #expect(fixture.server.snapshot.requests.isEmpty)
    }
  }

  /// The TLS library refuses every such name.
  @Test(arguments: [FaultServerTLS.good, .wrongHost, .addressOnly, .selfSigned], [false, true])
  func `A host name with an underscore is checked`(
    kind: FaultServerTLS, isProxied: Bool
  ) async throws {
    var leading = ProxyServer.Rules()
    leading.host = "127.0.0.1"
    for version in [TransferManager.Configuration.HTTPVersion.http1, .http2] {
      try await DownloadFixture.with([Self.file], tls: kind, http2: true) { fixture in
        try await ProxyServer.with(.http, leading) { proxy in
          let rules = try ProxyRules(
            isProxied ? ProxyRules.Proxy("http://127.0.0.1:\(proxy.port)") : nil)
          let name = "my_bucket.haul.test"
          let request = try fixture.request("/f.bin") {
            $0.url = try ResourceURL(fixture.server.url("/f.bin", host: name))
          }
          let outcome = try await fixture.run(
            request,
            configure: {
              ($0.httpVersion, $0.proxies) = (version, rules)
              $0.addresses = [name: "127.0.0.1"]
            })
          if kind == .good {
            try fixture.expectWhole("f.bin", seed: 54, length: 300_000, outcome)
          } else {
            try fixture.expectFailure(.tls, outcome, without: "f.bin")
            #expect(fixture.server.snapshot.requests.isEmpty)
          }
        }
      }
    }
  }

  @Test(arguments: [TransferManager.Configuration.HTTPVersion.http1, .http2], [false, true])
  func `The last dot of a host name is for its lookup and the server, not for TLS`(
    version: TransferManager.Configuration.HTTPVersion, isProxied: Bool
  ) async throws {
    var leading = ProxyServer.Rules()
    leading.host = "127.0.0.1"
    try await DownloadFixture.with([Self.file], tls: .good, http2: true) { fixture in
      try await ProxyServer.with(.http, leading) { proxy in
        let rules = try ProxyRules(
          isProxied ? ProxyRules.Proxy("http://127.0.0.1:\(proxy.port)") : nil)
        let request = try fixture.request("/f.bin") {
          $0.url = try ResourceURL(fixture.server.url("/f.bin", host: "a.haul.test."))
        }
        let outcome = try await fixture.run(
          request,
          configure: {
            ($0.httpVersion, $0.proxies) = (version, rules)
            $0.addresses = ["a.haul.test.": "127.0.0.1"]
          })
        try fixture.expectWhole("f.bin", seed: 54, length: 300_000, outcome)
        if version == .http1 {
          let host = fixture.server.snapshot.requests.first?.header("Host")
          #expect(host == "a.haul.test.:\(fixture.server.port)")
        }
      }
    }
  }

  @Test(arguments: [
    ("files.test.", "files.test"), ("files.test", "files.test"), ("127.0.0.1.", "127.0.0.1."),
  ])
  func `A handshake names the host without its last dot`(host: String, name: String) {
    #expect(HostnameVerification.serverName(of: host) == name)
  }

  @Test(arguments: [
    ("a.example.org", "A.example.ORG", true), ("a.example.org.", "a.example.org", true),
    ("*.example.org", "a.example.org", true), ("*.example.org", "example.org", false),
    ("*.example.org", "b.a.example.org", false), ("*.org", "example.org", false),
    ("a*.example.org", "ab.example.org", false), ("*", "localhost", false),
    ("a.*.org", "a.example.org", false), ("", "localhost", false),
    ("\u{212A}.example.org", "k.example.org", false),
    ("*.example.org", "my_bucket.example.org", true),
    ("my_bucket.example.org", "my_bucket.example.org", true),
  ])
  func `Certificate names match a host exactly or with one leading wildcard`(
    pattern: String, host: String, fits: Bool
  ) {
    #expect(HostnameVerification.matches(pattern, host) == fits)
  }
}
