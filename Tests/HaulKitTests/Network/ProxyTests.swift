import HaulCore
import HaulKit
import HaulTesting
import Testing

@Suite struct ProxyTests {
  private static let length = 300_000
  private static let file = FaultScript.Resource("/f.bin", seed: 53, length: Int64(length))

  private func rules(
    _ scheme: String, _ proxy: ProxyServer, user: String = "", exceptions: String = ""
  ) throws -> ProxyRules {
    ProxyRules(
      try ProxyRules.Proxy("\(scheme)://\(user)127.0.0.1:\(proxy.port)"), exceptions: exceptions)
  }

  /// By name, because the certificate of an IP address cannot be checked through a proxy.
  private func named(_ fixture: DownloadFixture, _ path: String = "/f.bin") throws
    -> DownloadRequest
  {
    let url = try ResourceURL(fixture.server.url(path, host: "localhost"))
    return try fixture.request(path) { $0.url = url }
  }

  private static func password() -> ProxyServer.Rules {
    var rules = ProxyServer.Rules()
    rules.user = "user"
    rules.password = "hidden"
    return rules
  }

  @Test(arguments: [ProxyServer.Kind.http, .socks5], [FaultServerTLS.none, .good])
  func `A download works through a proxy, with and without a password`(
    kind: ProxyServer.Kind, tls: FaultServerTLS
  ) async throws {
    let scheme = kind == .http ? "http" : "socks5h"
    for user in ["", "user:hidden@"] {
      try await DownloadFixture.with([Self.file], tls: tls) { fixture in
        let wanted = user.isEmpty ? ProxyServer.Rules() : Self.password()
        try await ProxyServer.with(kind, wanted) { proxy in
          let through = try rules(scheme, proxy, user: user)
          let outcome = try await fixture.run(
            try named(fixture), configure: { $0.proxies = through })
          try fixture.expectWhole("f.bin", seed: 53, length: Self.length, outcome)
          #expect(outcome?.attempts == 0)
          let line = try #require(proxy.requests.first?.line)
          let target = "localhost:\(fixture.server.port)"
          let wanted =
            kind == .socks5
            ? "SOCKS \(target)"
            : tls == .none ? "GET http://\(target)/f.bin" : "CONNECT \(target)"
          #expect(line == wanted)
          let fields = fixture.server.snapshot.requests.flatMap(\.headerLines)
          #expect(!fields.contains { $0.lowercased().hasPrefix("proxy-") }, "\(fields)")
          #expect(fixture.server.snapshot.requests.first?.header("Host") == target)
        }
      }
    }
  }

  @Test(arguments: [ProxyServer.Kind.http, .socks5], [FaultServerTLS.none, .good])
  func `A wrong proxy password fails at once with a proxy error`(
    kind: ProxyServer.Kind, tls: FaultServerTLS
  ) async throws {
    let scheme = kind == .http ? "http" : "socks5"
    for user in ["", "user:wrong-secret@"] {
      try await DownloadFixture.with([Self.file], tls: tls) { fixture in
        try await ProxyServer.with(kind, Self.password()) { proxy in
          let through = try rules(scheme, proxy, user: user)
          let outcome = try await fixture.run(
            try named(fixture), configure: { $0.proxies = through })
          try fixture.expectFailure(.proxy, outcome, without: "f.bin")
          #expect(outcome?.attempts == 0)
          #expect(fixture.server.snapshot.requests.isEmpty)
          let message = outcome?.result.error?.message ?? ""
          #expect(!message.contains("wrong-secret"))
          #expect(message.contains("127.0.0.1:\(proxy.port)"), "\(message)")
        }
      }
    }
  }

  @Test(arguments: [ProxyServer.Kind.http, .socks5])
  func `A tunnel that the proxy refuses fails with a proxy error`(kind: ProxyServer.Kind)
    async throws
  {
    var refusing = ProxyServer.Rules()
    refusing.refuses = true
    try await DownloadFixture.with([Self.file], tls: .good) { fixture in
      try await ProxyServer.with(kind, refusing) { proxy in
        let through = try rules(kind == .http ? "http" : "socks5", proxy)
        let request = try named(fixture).with { $0.retry.retries = 0 }
        let outcome = try await fixture.run(request, configure: { $0.proxies = through })
        try fixture.expectFailure(.proxy, outcome, without: "f.bin")
        let message = try #require(outcome?.result.error?.message)
        #expect(message.contains(kind == .http ? "403" : "does not allow"), "\(message)")
      }
    }
  }

  @Test func `CONNECT names the port of the host, and the program`() async throws {
    try await DownloadFixture.with([Self.file], tls: .good) { fixture in
      try await ProxyServer.with(.http) { proxy in
        let through = try rules("http", proxy)
        let outcome = try await fixture.run(
          try named(fixture),
          configure: { ($0.proxies, $0.userAgent) = (through, "program/1") })
        try fixture.expectWhole("f.bin", seed: 53, length: Self.length, outcome)
        let fields = try #require(proxy.requests.first?.fields)
        #expect(fields.contains("Host: localhost:\(fixture.server.port)"), "\(fields)")
        #expect(fields.contains("User-Agent: program/1"), "\(fields)")
      }
    }
  }

  /// RFC 9112, section 2.2; RFC 9110, section 9.3.6: a client ignores both fields.
  @Test(arguments: [
    "HTTP/1.0 200 OK\nVia: x\n\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n",
  ])
  func `A careless answer opens a tunnel`(opening: String) async throws {
    var careless = ProxyServer.Rules()
    careless.opening = opening
    try await DownloadFixture.with([Self.file], tls: .good) { fixture in
      try await ProxyServer.with(.http, careless) { proxy in
        let through = try rules("http", proxy)
        let outcome = try await fixture.run(try named(fixture), configure: { $0.proxies = through })
        try fixture.expectWhole("f.bin", seed: 53, length: Self.length, outcome)
        #expect(outcome?.attempts == 0)
      }
    }
  }

  @Test(arguments: [FaultServerTLS.none, .good])
  func `A proxy that wants what Haul lacks is not said to refuse a password`(
    tls: FaultServerTLS
  ) async throws {
    var wanting = Self.password()
    wanting.challenge = "NTLM"
    try await DownloadFixture.with([Self.file], tls: tls) { fixture in
      try await ProxyServer.with(.http, wanting) { proxy in
        let through = try rules("http", proxy, user: "user:other@")
        let outcome = try await fixture.run(try named(fixture), configure: { $0.proxies = through })
        try fixture.expectFailure(.proxy, outcome, without: "f.bin")
        let message = try #require(outcome?.result.error?.message)
        #expect(message.contains("wants NTLM, which is not supported"), "\(message)")
      }
    }
  }

  @Test func `A proxy that closes without a word is named`() async throws {
    var closing = ProxyServer.Rules()
    (closing.closesTunnels, closing.opening) = (true, "")
    try await DownloadFixture.with([Self.file], tls: .good) { fixture in
      try await ProxyServer.with(.http, closing) { proxy in
        let through = try rules("http", proxy)
        let request = try named(fixture).with { $0.retry.retries = 0 }
        let outcome = try await fixture.run(request, configure: { $0.proxies = through })
        try fixture.expectFailure(.proxy, outcome, without: "f.bin")
        let message = try #require(outcome?.result.error?.message)
        #expect(message.contains("the proxy 127.0.0.1:\(proxy.port) closed"), "\(message)")
      }
    }
  }

  @Test func `A server without HTTP-1-1 is said to be one`() async throws {
    var alerting = ProxyServer.Rules()
    // no_application_protocol (RFC 7301, section 3.2).
    alerting.alert = 120
    try await DownloadFixture.with([Self.file], tls: .good) { fixture in
      try await ProxyServer.with(.http, alerting) { proxy in
        let through = try rules("http", proxy)
        let outcome = try await fixture.run(try named(fixture), configure: { $0.proxies = through })
        try fixture.expectFailure(.tls, outcome, without: "f.bin")
        let error = try #require(outcome?.result.error)
        #expect(error.message.contains("HTTP/2 may work"), "\(error.message)")
        #expect(error.remedy == .newerHTTP)
      }
    }
  }

  @Test(arguments: ["http", "socks5"], [FaultServerTLS.none, .good])
  func `An unreachable proxy fails with a proxy error`(
    scheme: String, tls: FaultServerTLS
  ) async throws {
    // A reserved port without a listener.
    let through = ProxyRules(try ProxyRules.Proxy("\(scheme)://user:hidden@127.0.0.1:1"))
    try await DownloadFixture.with([Self.file], tls: tls) { fixture in
      let request = try named(fixture).with { $0.retry.retries = 0 }
      let outcome = try await fixture.run(request, configure: { $0.proxies = through })
      try fixture.expectFailure(.proxy, outcome, without: "f.bin")
      #expect(outcome?.result.error?.message.contains("hidden") == false)
      #expect(fixture.server.snapshot.requests.isEmpty)
    }
  }

  @Test func `If a proxy strips Range, the whole body is written from the start`() async throws {
    var stripping = ProxyServer.Rules()
    stripping.strips = ["range"]
    try await DownloadFixture.with([Self.file]) { fixture in
      try await ProxyServer.with(.http, stripping) { proxy in
        let through = try rules("http", proxy)
        let outcome = try await fixture.run(try named(fixture), configure: { $0.proxies = through })
        try fixture.expectWhole("f.bin", seed: 53, length: Self.length, outcome)
        #expect(fixture.server.snapshot.requests.allSatisfy { $0.range == nil })
      }
    }
  }

  @Test func `A host in the proxy exceptions is reached directly`() async throws {
    try await DownloadFixture.with([Self.file]) { fixture in
      try await ProxyServer.with(.http) { proxy in
        let around = try rules(
          "http", proxy, exceptions: "example.org localhost:\(fixture.server.port)")
        let outcome = try await fixture.run(try named(fixture), configure: { $0.proxies = around })
        try fixture.expectWhole("f.bin", seed: 53, length: Self.length, outcome)
        #expect(proxy.requests.isEmpty)
      }
    }
  }

  @Test func `Several ranges and several files work through a proxy`() async throws {
    let large = FaultScript.Resource("/l.bin", seed: 5, length: 8 << 20)
    try await DownloadFixture.with([Self.file, large]) { fixture in
      try await ProxyServer.with(.http) { proxy in
        let through = try rules("http", proxy)
        try await fixture.withManager({ $0.proxies = through }) { manager in
          let outcome = try await fixture.finish(try named(fixture, "/l.bin"), with: manager)
          try fixture.expectWhole("l.bin", seed: 5, length: 8 << 20, outcome)
          let second = try await fixture.finish(try named(fixture), with: manager)
          try fixture.expectWhole("f.bin", seed: 53, length: Self.length, second)
        }
      }
    }
  }

  @Test(arguments: ["http", "socks5"])
  func `The certificate of an IP address is checked through a proxy`(
    scheme: String
  ) async throws {
    for (tls, isRight) in [
      (FaultServerTLS.good, true), (.addressOnly, true), (.wrongHost, false), (.selfSigned, false),
    ] {
      try await DownloadFixture.with([Self.file], tls: tls) { fixture in
        try await ProxyServer.with(scheme == "http" ? .http : .socks5) { proxy in
          let through = try rules(scheme, proxy)
          let outcome = try await fixture.run(
            try fixture.request("/f.bin"), configure: { $0.proxies = through })
          if isRight {
            try fixture.expectWhole("f.bin", seed: 53, length: Self.length, outcome)
            #expect(!proxy.requests.isEmpty)
          } else {
            try fixture.expectFailure(.tls, outcome, without: "f.bin")
            #expect(fixture.server.snapshot.requests.isEmpty)
          }
        }
      }
    }
  }

  @Test func `The certificate must be for the IP address of the origin, not of the proxy`()
    async throws
  {
    // The proxy leads a request for another address to a server with a certificate of 127.0.0.1.
    var leading = ProxyServer.Rules()
    leading.host = "127.0.0.1"
    try await DownloadFixture.with([Self.file], tls: .good) { fixture in
      leading.port = fixture.server.port
      try await ProxyServer.with(.http, leading) { proxy in
        let through = try rules("http", proxy)
        let request = try fixture.request("/f.bin") {
          $0.url = try ResourceURL("https://127.0.0.2:\(fixture.server.port)/f.bin")
        }
        let outcome = try await fixture.run(request, configure: { $0.proxies = through })
        try fixture.expectFailure(.tls, outcome, without: "f.bin")
        #expect(fixture.server.snapshot.requests.isEmpty)
      }
    }
  }

  @Test(arguments: ["localhost", "127.0.0.1"])
  func `A tunnel that is opened and closed is a fault of the proxy, in plain words`(
    host: String
  ) async throws {
    var closing = ProxyServer.Rules()
    closing.closesTunnels = true
    try await DownloadFixture.with([Self.file], tls: .good) { fixture in
      try await ProxyServer.with(.http, closing) { proxy in
        let through = try rules("http", proxy)
        let request = try fixture.request("/f.bin") {
          $0.url = try ResourceURL(fixture.server.url("/f.bin", host: host))
          $0.retry.retries = 0
        }
        let outcome = try await fixture.run(request, configure: { $0.proxies = through })
        try fixture.expectFailure(.proxy, outcome, without: "f.bin")
        let message = try #require(outcome?.result.error?.message)
        #expect(message.contains("closed the tunnel") && !message.contains("("), "\(message)")
      }
    }
  }

  @Test(arguments: ["http", "socks5"], [FaultServerTLS.wrongHost, .addressOnly])
  func `The server's certificate is checked through a tunnel`(
    scheme: String, kind: FaultServerTLS
  ) async throws {
    try await DownloadFixture.with([Self.file], tls: kind) { fixture in
      try await ProxyServer.with(scheme == "http" ? .http : .socks5) { proxy in
        let through = try rules(scheme, proxy)
        let outcome = try await fixture.run(try named(fixture), configure: { $0.proxies = through })
        try fixture.expectFailure(.tls, outcome, without: "f.bin")
        #expect(outcome?.attempts == 0)
        #expect(fixture.server.snapshot.requests.isEmpty)
      }
    }
  }

  @Test(arguments: [(refuses: false, versions: [RequestRecord.Version.http2]), (true, [.http1])])
  func `HTTP-2 works through a tunnel; where a proxy refuses it, HTTP-1-1 is used`(
    refuses: Bool, versions: [RequestRecord.Version]
  ) async throws {
    var wanting = ProxyServer.Rules()
    if refuses { wanting.wantsText = "User-Agent: " }
    try await DownloadFixture.with([Self.file], tls: .good, http2: true) { fixture in
      try await ProxyServer.with(.http, wanting) { proxy in
        let through = try rules("http", proxy)
        let outcome = try await fixture.run(
          try named(fixture).with { $0.connections = 1 },
          configure: {
            $0.proxies = through
            $0.httpVersion = .http2
          })
        try fixture.expectWhole("f.bin", seed: 53, length: Self.length, outcome)
        #expect(outcome?.attempts == 0)
        #expect(fixture.server.snapshot.requests.map(\.version) == versions)
      }
    }
  }
}

extension DownloadRequest {
  func with(_ change: (inout DownloadRequest) throws -> Void) rethrows -> DownloadRequest {
    var copy = self
    try change(&copy)
    return copy
  }
}
