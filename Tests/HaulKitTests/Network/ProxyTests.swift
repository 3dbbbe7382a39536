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
  func `An https address with an IP host is refused through a proxy`(
    scheme: String
  ) async throws {
    try await DownloadFixture.with([Self.file], tls: .good) { fixture in
      try await ProxyServer.with(scheme == "http" ? .http : .socks5) { proxy in
        let through = try rules(scheme, proxy)
        let outcome = try await fixture.run(
          try fixture.request("/f.bin"), configure: { $0.proxies = through })
        try fixture.expectFailure(.tls, outcome, without: "f.bin")
        #expect(proxy.requests.isEmpty)
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

  @Test func `HTTP-2 works through a tunnel`() async throws {
    try await DownloadFixture.with([Self.file], tls: .good, http2: true) { fixture in
      try await ProxyServer.with(.http) { proxy in
        let through = try rules("http", proxy)
        let outcome = try await fixture.run(
          try named(fixture).with { $0.connections = 1 },
          configure: {
            $0.proxies = through
            $0.httpVersion = .http2
          })
        try fixture.expectWhole("f.bin", seed: 53, length: Self.length, outcome)
        #expect(fixture.server.snapshot.requests.map(\.version) == [.http2])
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
