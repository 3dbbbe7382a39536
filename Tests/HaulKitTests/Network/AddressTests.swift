import FoundationEssentials
import HaulCore
import HaulFiles
import HaulHTTP
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

@Suite struct AddressTests {
  private static let length = 300_000
  private static let file = FaultScript.Resource("/f.bin", seed: 50, length: Int64(length))

  private func request(_ fixture: DownloadFixture, host: String) throws -> DownloadRequest {
    let url = try ResourceURL(fixture.server.url("/f.bin", host: host))
    return try fixture.request("/f.bin") { $0.url = url }
  }

  @Test func `A host is reached at the configured address, under its own name`() async throws {
    try await DownloadFixture.with([Self.file], tls: .good) { fixture in
      // Only the certificate's name is right; this host name cannot be looked up.
      let outcome = try await fixture.run(
        try request(fixture, host: "name.invalid").with { $0.allowInsecure = true },
        configure: { $0.addresses = ["name.invalid": "127.0.0.1"] })
      try fixture.expectWhole("f.bin", seed: 50, length: Self.length, outcome)
      let host = fixture.server.snapshot.requests.first?.header("Host")
      #expect(host == "name.invalid:\(fixture.server.port)")
    }
  }

  @Test func `The certificate is checked for the host name, not for the configured address`()
    async throws
  {
    try await DownloadFixture.with([Self.file], tls: .wrongHost) { fixture in
      let outcome = try await fixture.run(
        try request(fixture, host: "name.invalid"),
        configure: { $0.addresses = ["name.invalid": "127.0.0.1"] })
      try fixture.expectFailure(.tls, outcome, without: "f.bin")
    }
  }

  @Test(arguments: [FaultServerTLS.none, .good], ["a.b.localhost", "localhost."])
  func `A name below localhost is this machine, without a lookup`(
    tls: FaultServerTLS, host: String
  ) async throws {
    try await DownloadFixture.with([Self.file], tls: tls) { fixture in
      let outcome = try await fixture.run(
        try request(fixture, host: host).with { $0.allowInsecure = true })
      try fixture.expectWhole("f.bin", seed: 50, length: Self.length, outcome)
      let sent = fixture.server.snapshot.requests.first?.header("Host")
      #expect(sent == "\(host):\(fixture.server.port)")
    }
  }

  private static let hasIPv6 =
    (try? String(contentsOfFile: "/proc/net/if_inet6", encoding: .utf8))?.contains(" lo") == true

  @Test(.enabled(if: hasIPv6), arguments: [FaultServerTLS.none, .good])
  func `A zone names the interface of an address, and the server does not see it`(
    tls: FaultServerTLS
  ) async throws {
    try await DownloadFixture.with([Self.file]) { fixture in
      let server = try await FaultServer.start(
        FaultScript([Self.file]), tls: tls, host: "::1")
      let url = try ResourceURL(server.url("/f.bin", host: "[::1%25lo]"))
      let outcome = try await fixture.run(
        try fixture.request("/f.bin") {
          ($0.url, $0.allowInsecure) = (url, true)
        })
      try fixture.expectWhole("f.bin", seed: 50, length: Self.length, outcome)
      #expect(server.snapshot.requests.first?.header("Host") == "[::1]:\(server.port)")
      try await server.shutdown()
    }
  }

  @Test func `Only addresses of the configured family are used`() async throws {
    try await DownloadFixture.with([Self.file]) { fixture in
      let right = try await fixture.run(
        try request(fixture, host: "localhost"), configure: { $0.addressFamily = .ipv4 })
      try fixture.expectWhole("f.bin", seed: 50, length: Self.length, right)
      let wrong = try await fixture.run(
        try request(fixture, host: "127.0.0.1").with { $0.retry.retries = 0 },
        configure: { $0.addressFamily = .ipv6 })
      #expect(wrong?.code == .connect, "\(String(describing: wrong))")
      #expect(wrong?.result.error?.message.contains("family") == true)
    }
  }

  @Test func `Connections start from the configured local address`() async throws {
    try await DownloadFixture.with([Self.file]) { fixture in
      let right = try await fixture.run(
        try request(fixture, host: "127.0.0.1"), configure: { $0.localAddress = "127.0.0.1" })
      try fixture.expectWhole("f.bin", seed: 50, length: Self.length, right)
      let foreign = try await fixture.run(
        try request(fixture, host: "127.0.0.1").with { $0.retry.retries = 0 },
        configure: { $0.localAddress = "192.0.2.1" })
      #expect(foreign?.code == .connect, "\(String(describing: foreign))")
    }
  }

  @Test func `The configured user agent is sent`() async throws {
    try await DownloadFixture.with([Self.file]) { fixture in
      _ = try await fixture.run(
        try request(fixture, host: "127.0.0.1"), configure: { $0.userAgent = "tester/1" })
      #expect(fixture.server.snapshot.requests.first?.header("User-Agent") == "tester/1")
    }
  }

  @Test func `A kept connection that the server has closed costs no attempt`() async throws {
    let fault = Fault(.cut(how: .close, after: 0, in: .head), when: .request(2))
    let file = FaultScript.Resource("/f.bin", seed: 51, length: 1000, faults: [fault])
    try await DownloadFixture.with([file]) { fixture in
      try await fixture.withManager { manager in
        for name in ["first", "second"] {
          let outcome = try await fixture.finish(
            try fixture.request("/f.bin", as: name) { $0.retry.retries = 0 }, with: manager)
          try fixture.expectWhole(name, seed: 51, length: 1000, outcome)
          #expect(outcome.attempts == 0)
        }
      }
      #expect(fixture.server.snapshot.requests.map(\.connection) == [1, 1, 2])
    }
  }

  @Test func `A new connection that is closed without an answer fails`() async throws {
    let fault = Fault(.cut(how: .close, after: 0, in: .head))
    let file = FaultScript.Resource("/f.bin", seed: 51, length: 1000, faults: [fault])
    try await DownloadFixture.with([file]) { fixture in
      let request = try fixture.request("/f.bin") { $0.retry.retries = 0 }
      try fixture.expectFailure(
        .connectionLost, try await fixture.finish(request), without: "f.bin")
      // The second one is without a range, in case the server fails at ranges.
      #expect(fixture.server.snapshot.requests.map(\.range) == ["bytes=0-", nil])
    }
  }

  /// Finds the host for the first request, then fails twice, then finds it always.
  private struct FlakyResolver: Transport {
    let behind: HTTPTransport
    let requests = NIOLockedValueBox(0)

    func fetch(_ request: FetchRequest) async throws -> FetchResponse {
      let number = requests.withLockedValue { count in
        count += 1
        return count
      }
      if number == 2 || number == 3 {
        throw TransferError(.dns, "unknown host", isRetryable: true)
      }
      return try await behind.fetch(request)
    }
  }

  @Test func `A temporary DNS failure costs attempts, but no bytes`() async throws {
    let fault = Fault(.reset(after: 200_000), when: .request(1))
    let file = FaultScript.Resource(
      "/f.bin", seed: 50, length: Int64(Self.length), faults: [fault])
    try await DownloadFixture.with([file]) { fixture in
      let http = try HTTPTransport(.init())
      let engine = Engine(
        transport: FlakyResolver(behind: http), disk: POSIXDisk(), io: .withoutThreads,
        clock: SystemClock(), configuration: try fixture.configuration(), seed: 49)
      let manager = TransferManager(engine: engine)
      let request = try fixture.request("/f.bin") { $0.connections = 1 }
      let outcome = try await fixture.finish(request, with: manager)
      await manager.shutdown()
      await http.shutdown()
      try fixture.expectWhole("f.bin", seed: 50, length: Self.length, outcome)
      #expect(outcome.attemptCodes == [.connectionLost, .dns, .dns])
      #expect(fixture.server.snapshot.requests.count == 2)
    }
  }

  @Test func `An unknown host is reported as such`() async throws {
    try await DownloadFixture.with([Self.file]) { fixture in
      let outcome = try await fixture.finish(
        try request(fixture, host: "name.invalid").with { $0.retry.retries = 0 })
      try fixture.expectFailure(.dns, outcome, without: "f.bin")
    }
  }

  @Test func `An unverified connection is never reused for a verified request`() async throws {
    for http2 in [false, true] {
      try await DownloadFixture.with([Self.file], tls: .selfSigned, http2: http2) { fixture in
        try await fixture.withManager({ $0.httpVersion = http2 ? .http2 : .http1 }) { manager in
          let open = try await fixture.finish(
            try fixture.request("/f.bin", as: "open") { $0.allowInsecure = true }, with: manager)
          try fixture.expectWhole("open", seed: 50, length: Self.length, open)
          let checked = try await fixture.finish(
            try fixture.request("/f.bin", as: "checked"), with: manager)
          try fixture.expectFailure(.tls, checked, without: "checked")
        }
      }
    }
  }

  @Test func `An unverified tunnel is never reused for a verified request`() async throws {
    for scheme in ["http", "socks5"] {
      try await DownloadFixture.with([Self.file], tls: .selfSigned) { fixture in
        try await ProxyServer.with(scheme == "http" ? .http : .socks5) { proxy in
          let rules = ProxyRules(try ProxyRules.Proxy("\(scheme)://127.0.0.1:\(proxy.port)"))
          try await fixture.withManager({ $0.proxies = rules }) { manager in
            let open = try await fixture.finish(
              try request(fixture, host: "localhost").with {
                $0.allowInsecure = true
                $0.destination = .file(fixture.path("open"))
              }, with: manager)
            try fixture.expectWhole("open", seed: 50, length: Self.length, open)
            let checked = try await fixture.finish(
              try request(fixture, host: "localhost"), with: manager)
            try fixture.expectFailure(.tls, checked, without: "f.bin")
          }
        }
      }
    }
  }
}
