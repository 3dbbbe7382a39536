import FoundationEssentials
import HaulCore
import HaulHTTP
import HaulKit
import HaulTesting
import Testing

@Suite struct CertificateTests {
  private static let file = FaultScript.Resource("/f.bin", seed: 54, length: 300_000)

  @Test(arguments: [FaultServerTLS.expired, .selfSigned, .wrongHost, .tls11Only])
  func `Case 54: a certificate or version that is not right fails at once and for good`(
    kind: FaultServerTLS
  ) async throws {
    try await Bench.with([Self.file], tls: kind) { bench in
      let outcome = try await bench.finish(try bench.request("/f.bin"))
      try bench.expectFailure(.tls, outcome)
      #expect(outcome.result.error?.isRetryable == false)
      #expect(outcome.attempts == 0)
      #expect(bench.server.snapshot.requests.isEmpty)
      #expect(try bench.names().isEmpty)
    }
  }

  @Test func `Case 54: an authority that nobody knows fails at once`() async throws {
    try await Bench.with([Self.file], tls: .good) { bench in
      let outcome = try await bench.run(
        try bench.request("/f.bin"), configure: { $0.certificateAuthorities = nil })
      try bench.expectFailure(.tls, outcome)
      #expect(outcome?.attempts == 0)
      #expect(bench.server.snapshot.requests.isEmpty)
    }
  }

  @Test func `Case 54: another authority's file does not help`() async throws {
    try await Bench.with([Self.file], tls: .good) { bench in
      let other = bench.path("other.pem")
      try CertificateAuthority().pem.write(toFile: other, atomically: true, encoding: .utf8)
      let outcome = try await bench.run(
        try bench.request("/f.bin"), configure: { $0.certificateAuthorities = other })
      try bench.expectFailure(.tls, outcome)
    }
  }

  @Test(arguments: ["127.0.0.1", "localhost"])
  func `Case 54: a good certificate with its authority's file is trusted`(
    host: String
  ) async throws {
    try await Bench.with([Self.file], tls: .good) { bench in
      var request = try bench.request("/f.bin")
      request.url = try ResourceURL(bench.server.url("/f.bin", host: host))
      try bench.expectWhole("f.bin", seed: 54, length: 300_000, try await bench.finish(request))
    }
  }

  @Test(arguments: [FaultServerTLS.expired, .selfSigned, .wrongHost])
  func `Case 54: told not to check, it does not, on every connection`(
    kind: FaultServerTLS
  ) async throws {
    try await Bench.with([Self.file], tls: kind) { bench in
      let outcome = try await bench.finish(
        try bench.request("/f.bin") {
          $0.allowInsecure = true
          $0.connections = 4
        })
      try bench.expectWhole("f.bin", seed: 54, length: 300_000, outcome)
    }
  }

  @Test func `Case 54: told not to check, it still speaks no TLS 1.1`() async throws {
    try await Bench.with([Self.file], tls: .tls11Only) { bench in
      let outcome = try await bench.finish(try bench.request("/f.bin") { $0.allowInsecure = true })
      try bench.expectFailure(.tls, outcome)
    }
  }

  @Test func `Case 54: not checking is for one origin, a redirect to another is checked`()
    async throws
  {
    try await withFaultServer(FaultScript([Self.file]), tls: .selfSigned) { other in
      let start = FaultScript.Resource.redirecting("/start", to: other.url("/f.bin"))
      try await Bench.with([start], tls: .selfSigned) { bench in
        let request = try bench.request("/start", as: "f.bin") { $0.allowInsecure = true }
        try bench.expectFailure(.tls, try await bench.finish(request), without: "f.bin")
        #expect(bench.server.snapshot.requestCount("/start") == 1)
        #expect(other.snapshot.requests.isEmpty)
      }
    }
  }

  @Test func `Case 54: not checking holds for a redirect within the origin`() async throws {
    try await Bench.with(
      [.redirecting("/start", to: "/f.bin"), Self.file], tls: .selfSigned
    ) { bench in
      let request = try bench.request("/start", as: "f.bin") { $0.allowInsecure = true }
      try bench.expectWhole("f.bin", seed: 54, length: 300_000, try await bench.finish(request))
    }
  }

  @Test func `Case 54: not checking is for one transfer, the next is checked`() async throws {
    try await Bench.with([Self.file], tls: .selfSigned) { bench in
      _ = try await bench.finish(
        try bench.request("/f.bin", as: "first") { $0.allowInsecure = true })
      let second = try await bench.finish(try bench.request("/f.bin", as: "second"))
      try bench.expectFailure(.tls, second, without: "second")
    }
  }

  @Test(arguments: [TransferManager.Configuration.HTTPVersion.http1, .http2])
  func `Case 54: a certificate for the address of the other end is none for a host's name`(
    version: TransferManager.Configuration.HTTPVersion
  ) async throws {
    try await Bench.with([Self.file], tls: .addressOnly, http2: true) { bench in
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
  func `Case 54: a name of a certificate fits a host, or not`(
    pattern: String, host: String, fits: Bool
  ) {
    #expect(CertificateName.matches(pattern, host) == fits)
  }
}
