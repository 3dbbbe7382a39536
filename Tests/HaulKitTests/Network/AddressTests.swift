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

  private func request(_ bench: DownloadFixture, host: String) throws -> DownloadRequest {
    let url = try ResourceURL(bench.server.url("/f.bin", host: host))
    return try bench.request("/f.bin") { $0.url = url }
  }

  @Test func `A host is reached at the configured address, under its own name`() async throws {
    try await DownloadFixture.with([Self.file], tls: .good) { bench in
      // Only the certificate's name is right; this host name cannot be looked up.
      let outcome = try await bench.run(
        try request(bench, host: "name.invalid").with { $0.allowInsecure = true },
        configure: { $0.addresses = ["name.invalid": "127.0.0.1"] })
      try bench.expectWhole("f.bin", seed: 50, length: Self.length, outcome)
      let host = bench.server.snapshot.requests.first?.header("Host")
      #expect(host == "name.invalid:\(bench.server.port)")
    }
  }

  @Test func `The certificate is checked for the host name, not for the configured address`()
    async throws
  {
    try await DownloadFixture.with([Self.file], tls: .wrongHost) { bench in
      let outcome = try await bench.run(
        try request(bench, host: "name.invalid"),
        configure: { $0.addresses = ["name.invalid": "127.0.0.1"] })
      try bench.expectFailure(.tls, outcome, without: "f.bin")
    }
  }

  @Test func `Only addresses of the configured family are used`() async throws {
    try await DownloadFixture.with([Self.file]) { bench in
      let right = try await bench.run(
        try request(bench, host: "localhost"), configure: { $0.addressFamily = .ipv4 })
      try bench.expectWhole("f.bin", seed: 50, length: Self.length, right)
      let wrong = try await bench.run(
        try request(bench, host: "127.0.0.1").with { $0.retry.retries = 0 },
        configure: { $0.addressFamily = .ipv6 })
      #expect(wrong?.code == .connect, "\(String(describing: wrong))")
      #expect(wrong?.result.error?.message.contains("family") == true)
    }
  }

  @Test func `Connections start from the configured local address`() async throws {
    try await DownloadFixture.with([Self.file]) { bench in
      let right = try await bench.run(
        try request(bench, host: "127.0.0.1"), configure: { $0.localAddress = "127.0.0.1" })
      try bench.expectWhole("f.bin", seed: 50, length: Self.length, right)
      let foreign = try await bench.run(
        try request(bench, host: "127.0.0.1").with { $0.retry.retries = 0 },
        configure: { $0.localAddress = "192.0.2.1" })
      #expect(foreign?.code == .connect, "\(String(describing: foreign))")
    }
  }

  @Test func `The configured user agent is sent`() async throws {
    try await DownloadFixture.with([Self.file]) { bench in
      _ = try await bench.run(
        try request(bench, host: "127.0.0.1"), configure: { $0.userAgent = "tester/1" })
      #expect(bench.server.snapshot.requests.first?.header("User-Agent") == "tester/1")
    }
  }

  @Test func `A kept connection that the server has closed costs no attempt`() async throws {
    let fault = Fault(.cut(how: .close, after: 0, in: .head), when: .request(2))
    let file = FaultScript.Resource("/f.bin", seed: 51, length: 1000, faults: [fault])
    try await DownloadFixture.with([file]) { bench in
      try await bench.withManager { manager in
        for name in ["first", "second"] {
          let outcome = try await bench.finish(
            try bench.request("/f.bin", as: name) { $0.retry.retries = 0 }, with: manager)
          try bench.expectWhole(name, seed: 51, length: 1000, outcome)
          #expect(outcome.attempts == 0)
        }
      }
      #expect(bench.server.snapshot.requests.map(\.connection) == [1, 1, 2])
    }
  }

  @Test func `A new connection that is closed without an answer fails`() async throws {
    let fault = Fault(.cut(how: .close, after: 0, in: .head))
    let file = FaultScript.Resource("/f.bin", seed: 51, length: 1000, faults: [fault])
    try await DownloadFixture.with([file]) { bench in
      let request = try bench.request("/f.bin") { $0.retry.retries = 0 }
      try bench.expectFailure(.connectionLost, try await bench.finish(request), without: "f.bin")
      #expect(bench.server.snapshot.requests.count == 1)
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
    try await DownloadFixture.with([file]) { bench in
      let http = try HTTPTransport(.init())
      let engine = Engine(
        transport: FlakyResolver(behind: http), disk: POSIXDisk(), io: .inline,
        clock: SystemClock(), configuration: try bench.configuration(), seed: 49)
      let manager = TransferManager(engine: engine)
      let request = try bench.request("/f.bin") { $0.connections = 1 }
      let outcome = try await bench.finish(request, with: manager)
      await manager.shutdown()
      await http.shutdown()
      try bench.expectWhole("f.bin", seed: 50, length: Self.length, outcome)
      #expect(outcome.attemptCodes == [.connectionLost, .dns, .dns])
      #expect(bench.server.snapshot.requests.count == 2)
    }
  }

  @Test func `An unknown host is reported as such`() async throws {
    try await DownloadFixture.with([Self.file]) { bench in
      let outcome = try await bench.finish(
        try request(bench, host: "name.invalid").with { $0.retry.retries = 0 })
      try bench.expectFailure(.dns, outcome, without: "f.bin")
    }
  }

  @Test func `An unverified connection is never reused for a verified request`() async throws {
    for http2 in [false, true] {
      try await DownloadFixture.with([Self.file], tls: .selfSigned, http2: http2) { bench in
        try await bench.withManager({ $0.httpVersion = http2 ? .http2 : .http1 }) { manager in
          let open = try await bench.finish(
            try bench.request("/f.bin", as: "open") { $0.allowInsecure = true }, with: manager)
          try bench.expectWhole("open", seed: 50, length: Self.length, open)
          let checked = try await bench.finish(
            try bench.request("/f.bin", as: "checked"), with: manager)
          try bench.expectFailure(.tls, checked, without: "checked")
        }
      }
    }
  }

  @Test func `An unverified tunnel is never reused for a verified request`() async throws {
    for scheme in ["http", "socks5"] {
      try await DownloadFixture.with([Self.file], tls: .selfSigned) { bench in
        try await ProxyServer.with(scheme == "http" ? .http : .socks5) { proxy in
          let rules = ProxyRules(try ProxyRules.Proxy("\(scheme)://127.0.0.1:\(proxy.port)"))
          try await bench.withManager({ $0.proxies = rules }) { manager in
            let open = try await bench.finish(
              try request(bench, host: "localhost").with {
                $0.allowInsecure = true
                $0.destination = .file(bench.path("open"))
              }, with: manager)
            try bench.expectWhole("open", seed: 50, length: Self.length, open)
            let checked = try await bench.finish(
              try request(bench, host: "localhost"), with: manager)
            try bench.expectFailure(.tls, checked, without: "f.bin")
          }
        }
      }
    }
  }
}
