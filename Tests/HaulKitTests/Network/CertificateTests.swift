import FoundationEssentials
import HaulCore
import HaulHTTP
import HaulKit
import HaulTesting
import Testing

@Suite struct CertificateTests {
  private static let file = FaultScript.Resource("/f.bin", seed: 54, length: 300_000)

  @Test(arguments: [FaultServerTLS.expired, .selfSigned, .wrongHost, .tls11Only])
  func `An invalid certificate or TLS version fails at once and permanently`(
    kind: FaultServerTLS
  ) async throws {
    try await DownloadFixture.with([Self.file], tls: kind) { bench in
      let outcome = try await bench.finish(try bench.request("/f.bin"))
      try bench.expectFailure(.tls, outcome)
      #expect(outcome.result.error?.isRetryable == false)
      #expect(outcome.attempts == 0)
      #expect(bench.server.snapshot.requests.isEmpty)
      #expect(try bench.names().isEmpty)
    }
  }

  @Test func `An unknown certificate authority fails at once`() async throws {
    try await DownloadFixture.with([Self.file], tls: .good) { bench in
      let outcome = try await bench.run(
        try bench.request("/f.bin"), configure: { $0.certificateAuthorities = nil })
      try bench.expectFailure(.tls, outcome)
      #expect(outcome?.attempts == 0)
      #expect(bench.server.snapshot.requests.isEmpty)
    }
  }

  @Test func `A certificate is refused if another authority is configured`() async throws {
    try await DownloadFixture.with([Self.file], tls: .good) { bench in
      let other = bench.path("other.pem")
      try CertificateAuthority().pem.write(toFile: other, atomically: true, encoding: .utf8)
      let outcome = try await bench.run(
        try bench.request("/f.bin"), configure: { $0.certificateAuthorities = other })
      try bench.expectFailure(.tls, outcome)
    }
  }

  @Test(arguments: ["127.0.0.1", "localhost"])
  func `A valid certificate is trusted with the file of its authority`(
    host: String
  ) async throws {
    try await DownloadFixture.with([Self.file], tls: .good) { bench in
      var request = try bench.request("/f.bin")
      request.url = try ResourceURL(bench.server.url("/f.bin", host: host))
      try bench.expectWhole("f.bin", seed: 54, length: 300_000, try await bench.finish(request))
    }
  }

  @Test(arguments: [FaultServerTLS.expired, .selfSigned, .wrongHost])
  func `With allowInsecure, no connection is verified`(
    kind: FaultServerTLS
  ) async throws {
    try await DownloadFixture.with([Self.file], tls: kind) { bench in
      let outcome = try await bench.finish(
        try bench.request("/f.bin") {
          $0.allowInsecure = true
          $0.connections = 4
        })
      try bench.expectWhole("f.bin", seed: 54, length: 300_000, outcome)
    }
  }

  @Test func `With allowInsecure, TLS 1.1 is still refused`() async throws {
    try await DownloadFixture.with([Self.file], tls: .tls11Only) { bench in
      let outcome = try await bench.finish(try bench.request("/f.bin") { $0.allowInsecure = true })
      try bench.expectFailure(.tls, outcome)
    }
  }

  @Test func `A redirect to another origin is verified despite allowInsecure`() async throws {
    try await withFaultServer(FaultScript([Self.file]), tls: .selfSigned) { other in
      let start = FaultScript.Resource.redirecting("/start", to: other.url("/f.bin"))
      try await DownloadFixture.with([start], tls: .selfSigned) { bench in
        let request = try bench.request("/start", as: "f.bin") { $0.allowInsecure = true }
        try bench.expectFailure(.tls, try await bench.finish(request), without: "f.bin")
        #expect(bench.server.snapshot.requestCount("/start") == 1)
        #expect(other.snapshot.requests.isEmpty)
      }
    }
  }

  @Test func `A redirect within the origin keeps allowInsecure`() async throws {
    try await DownloadFixture.with(
      [.redirecting("/start", to: "/f.bin"), Self.file], tls: .selfSigned
    ) { bench in
      let request = try bench.request("/start", as: "f.bin") { $0.allowInsecure = true }
      try bench.expectWhole("f.bin", seed: 54, length: 300_000, try await bench.finish(request))
    }
  }

  @Test func `The allowInsecure option applies to one transfer only`() async throws {
    try await DownloadFixture.with([Self.file], tls: .selfSigned) { bench in
      _ = try await bench.finish(
        try bench.request("/f.bin", as: "first") { $0.allowInsecure = true })
      let second = try await bench.finish(try bench.request("/f.bin", as: "second"))
      try bench.expectFailure(.tls, second, without: "second")
    }
  }

  @Test(arguments: [TransferManager.Configuration.HTTPVersion.http1, .http2])
  func `A certificate for an IP address is not valid for a host name`(
    version: TransferManager.Configuration.HTTPVersion
  ) async throws {
    try await DownloadFixture.with([Self.file], tls: .addressOnly, http2: true) { bench in
      var named = try bench.request("/f.bin", as: "named")
      named.url = try ResourceURL(bench.server.url("/f.bin", host: "localhost"))
      let outcome = try await bench.run(named, configure: { $0.httpVersion = version })
      try bench.expectFailure(.tls, outcome, without: "named")
      #expect(outcome?.attempts == 0)
      #expect(bench.server.snapshot.requests.isEmpty)

      let addressed = try await bench.run(
        try bench.request("/f.bin"), configure: { $0.httpVersion = version })
      try bench.expectWhole("f.bin", seed: 54, length: 300_000, addressed)
    }
  }

  @Test(arguments: [
    ("a.example.org", "A.example.ORG", true), ("a.example.org.", "a.example.org", true),
    ("*.example.org", "a.example.org", true), ("*.example.org", "example.org", false),
    ("*.example.org", "b.a.example.org", false), ("*.org", "example.org", false),
    ("a*.example.org", "ab.example.org", false), ("*", "localhost", false),
    ("a.*.org", "a.example.org", false), ("", "localhost", false),
    ("\u{212A}.example.org", "k.example.org", false),
  ])
  func `Certificate names match a host exactly or with one leading wildcard`(
    pattern: String, host: String, fits: Bool
  ) {
    #expect(HostnameVerification.matches(pattern, host) == fits)
  }
}
