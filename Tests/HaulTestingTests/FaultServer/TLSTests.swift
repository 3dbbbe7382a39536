import HaulTesting
import NIOSSL
import Testing

/// Over TLS.
@Suite(.timeLimit(.minutes(10)))
struct TLSTests {
  private func configuration(trusting server: FaultServer) throws -> TLSConfiguration {
    var configuration = TLSConfiguration.makeClientConfiguration()
    let pem = Array(server.certificateAuthorityPEM.utf8)
    configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(pem))
    configuration.minimumTLSVersion = .tlsv12
    return configuration
  }

  private func withServer(
    _ kind: FaultServerTLS, _ faults: Fault...,
    body: (FaultServer, TLSConfiguration) async throws -> Void
  ) async throws {
    let resource = FaultScript.Resource("/f", seed: 42, length: 100_000, faults: faults)
    try await withFaultServer(FaultScript([resource]), tls: kind) { server in
      try await body(server, try configuration(trusting: server))
    }
  }

  /// The status of one GET, or how the connection ended instead.
  private func outcome(
    _ server: FaultServer, _ configuration: TLSConfiguration, host: String = "localhost"
  ) async throws -> Result<WireResponse, Refusal> {
    let client = try await WireClient.connect(server, tls: configuration, host: host)
    do {
      try await client.request("GET", "/f", ["Connection: close"])
    } catch {
      return .failure(Refusal(text: "\(error)"))
    }
    let response = await client.takeResponse()
    await client.close()
    return .success(response)
  }

  struct Refusal: Error {
    let text: String
  }

  @Test
  func `a good certificate is accepted with the authority, and refused without it`() async throws {
    try await withServer(.good) { server, trusting in
      #expect(server.origin == "https://127.0.0.1:\(server.port)")
      let response = try await outcome(server, trusting).get()
      #expect(content.matches(response.body))
      #expect(response.body.count == 100_000)
      let refusal = try await outcome(server, .makeClientConfiguration())
      #expect(throws: Refusal.self) { try refusal.get() }
    }
  }

  @Test(arguments: [FaultServerTLS.expired, .selfSigned, .wrongHost])
  func `bad certificates are refused, and accepted without verification`(kind: FaultServerTLS)
    async throws
  {
    try await withServer(kind) { server, trusting in
      let refusal = try await outcome(server, trusting)
      #expect(throws: Refusal.self) { try refusal.get() }
      var careless = trusting
      careless.certificateVerification = .none
      #expect(try await outcome(server, careless).get().status == 200)
    }
  }

  @Test func `a certificate for the wrong host is valid for that host`() async throws {
    try await withServer(.wrongHost) { server, trusting in
      let response = try await outcome(server, trusting, host: "elsewhere.invalid").get()
      #expect(response.status == 200)
    }
  }

  @Test func `TLS 1.1 only is refused from 1.2 on, and accepted if allowed`() async throws {
    try await withServer(.tls11Only) { server, trusting in
      let refusal = try await outcome(server, trusting)
      #expect(throws: Refusal.self) { try refusal.get() }
      var lenient = trusting
      lenient.minimumTLSVersion = .tlsv1
      lenient.cipherSuites = "ALL"
      #expect(try await outcome(server, lenient).get().status == 200)
    }
  }

  @Test func `one authority can sign for several servers`() async throws {
    let authority = try CertificateAuthority()
    let server = try await FaultServer.start(
      FaultScript([.init("/f", length: 5)]), tls: .good, authority: authority)
    #expect(server.certificateAuthorityPEM == authority.pem)
    #expect(try await outcome(server, configuration(trusting: server)).get().status == 200)
    try await server.shutdown()
  }

  @Test(arguments: [true, false])
  func `a close-delimited body ends with close_notify or without`(notify: Bool) async throws {
    try await withServer(.good, Fault(.closeDelimited(closeNotify: notify))) { server, trusting in
      let client = try await WireClient.connect(server, tls: trusting)
      try await client.request("GET", "/f")
      let head = await client.takeHead()
      #expect(head["Content-Length"] == nil)
      let rest = await client.takeToEnd()
      #expect(rest.bytes == content.bytes(at: 0, count: 100_000))
      #expect(rest.end == (notify ? .eof : .unclean))
    }
  }

  @Test(arguments: [Fault.Ending.reset, .close, .closeWithoutNotify])
  func `cuts work`(how: Fault.Ending) async throws {
    try await withServer(.good, Fault(.cut(how: how, after: 5000))) { server, trusting in
      let client = try await WireClient.connect(server, tls: trusting)
      try await client.request("GET", "/f")
      _ = await client.takeHead()
      let rest = await client.takeToEnd()
      #expect(rest.bytes == content.bytes(at: 0, count: 5000))
      let ends: [Fault.Ending: WireClient.End] = [
        .reset: .reset, .close: .eof, .closeWithoutNotify: .unclean,
      ]
      #expect(rest.end == ends[how])
    }
  }
}
