import FoundationEssentials
import HaulCore
import HaulKit
import HaulTesting
import Testing

@Suite struct ClientCertificateTests {
  private static let file = FaultScript.Resource("/f.bin", seed: 55, length: 300_000)

  /// Runs `body` with a server that requires a client certificate of the authority.
  private func withServer(
    _ body: (DownloadFixture, CertificateAuthority) async throws -> Void
  ) async throws {
    try await DownloadFixture.with([]) { outer in
      let clients = try CertificateAuthority()
      let server = try await FaultServer.start(
        FaultScript([Self.file]), tls: .good, clientAuthority: clients)
      do {
        try await body(DownloadFixture(server: server, directory: outer.directory), clients)
      } catch {
        try await server.shutdown()
        throw error
      }
      try await server.shutdown()
    }
  }

  private func certificate(
    of authority: CertificateAuthority, in fixture: DownloadFixture
  ) throws -> ClientCertificate {
    let client = try authority.client()
    try fixture.put(Array(client.certificate.utf8), as: "client.pem")
    try fixture.put(Array(client.key.utf8), as: "client.key")
    return ClientCertificate(
      certificateFile: fixture.path("client.pem"), keyFile: fixture.path("client.key"))
  }

  @Test func `A client certificate that the server trusts is accepted`() async throws {
    try await withServer { fixture, clients in
      let client = try certificate(of: clients, in: fixture)
      let outcome = try await fixture.run(
        try fixture.request("/f.bin"), configure: { $0.clientCertificate = client })
      try fixture.expectWhole("f.bin", seed: 55, length: 300_000, outcome)
    }
  }

  @Test func `A client certificate of one manager is not used by another`() async throws {
    try await withServer { fixture, clients in
      let client = try certificate(of: clients, in: fixture)
      _ = try await fixture.run(
        try fixture.request("/f.bin", as: "first"), configure: { $0.clientCertificate = client })
      let outcome = try await fixture.run(
        try fixture.request("/f.bin", as: "second") { $0.retry.retries = 0 })
      #expect(outcome?.result.state == .failed)
      #expect(fixture.server.snapshot.requestCount("/f.bin") >= 1)
      #expect(try !fixture.names().contains("second"))
    }
  }

  @Test func `A client certificate of another authority is rejected`() async throws {
    try await withServer { fixture, _ in
      let client = try certificate(of: try CertificateAuthority(), in: fixture)
      let outcome = try await fixture.run(
        try fixture.request("/f.bin") { $0.retry.retries = 0 },
        configure: { $0.clientCertificate = client })
      #expect(outcome?.result.state == .failed)
      let error = outcome?.result.error
      #expect(error?.remedy == .clientCertificate, "\(String(describing: error))")
      #expect(fixture.server.snapshot.requests.isEmpty)
    }
  }

  @Test(arguments: [false, true])
  func `A server that another one names gets the client certificate only if its host is trusted`(
    isTrusted: Bool
  ) async throws {
    try await withServer { fixture, clients in
      let client = try certificate(of: clients, in: fixture)
      let first = try await FaultServer.start(
        FaultScript([FaultScript.Resource("/go", seed: 1, length: 10)]), tls: .good,
        clientAuthority: clients, authority: fixture.server.authority)
      first.setFaults("/go", [Fault(.redirect(location: fixture.server.url("/f.bin")))])
      let url = try ResourceURL(first.url("/go"))
      let request = try fixture.request("/f.bin") {
        $0.url = url
        $0.retry.retries = 0
        if isTrusted { $0.trustedRedirectHosts = [url.origin.host] }
      }
      let outcome = try await fixture.run(
        request, configure: { $0.clientCertificate = client })
      #expect(first.snapshot.requestCount("/go") >= 1, "the first server got the certificate")
      #expect((outcome?.result.state == .completed) == isTrusted)
      #expect((fixture.server.snapshot.requestCount("/f.bin") > 0) == isTrusted)
      try await first.shutdown()
    }
  }

  @Test(arguments: [false, true])
  func `A transfer that a client over TCP added does not get the client certificate`(
    allowsInsecure: Bool
  ) async throws {
    try await withServer { fixture, clients in
      let client = try certificate(of: clients, in: fixture)
      try fixture.put([1, 2, 3], as: "source")
      let download = try fixture.request("/f.bin") {
        ($0.roots, $0.allowInsecure) = ([fixture.directory], allowsInsecure)
        $0.retry.retries = 0
      }
      var upload = UploadRequest(
        fixture.path("source"), to: try ResourceURL(fixture.server.url("/f.bin")))
      (upload.roots, upload.allowInsecure) = ([fixture.directory], allowsInsecure)
      upload.retry.retries = 0
      var source = download
      (source.destination, source.roots) = (.stream, nil)
      // Nothing listens there; the source is asked first.
      var remote = UploadRequest(from: source, to: try ResourceURL("http://127.0.0.1:9/up"))
      remote.roots = upload.roots
      remote.retry.retries = 0
      for work in [TransferRequest.Work.download(download), .upload(upload), .upload(remote)] {
        let outcome = try await fixture.run(
          TransferRequest(work), configure: { $0.clientCertificate = client })
        #expect(outcome?.result.state == .failed)
        #expect(fixture.server.snapshot.requests.isEmpty)
      }
    }
  }

  @Test func `Files without a certificate or key are reported before anything starts`() throws {
    let directory = FileManager.default.temporaryDirectory.path
    let nothing = "\(directory)/haul-not-there-\(UUID().uuidString).pem"
    var configuration = TransferManager.Configuration()
    configuration.clientCertificate = ClientCertificate(
      certificateFile: nothing, keyFile: nothing)
    let error = #expect(throws: TransferError.self) { try TransferManager(configuration) }
    #expect(error?.code == .tls)
    #expect(error?.message.contains(nothing) == true)
  }

  @Test func `A server without the required TLS version is refused`() async throws {
    try await DownloadFixture.with([Self.file], tls: .tls12Only) { fixture in
      let fine = try await fixture.run(try fixture.request("/f.bin"))
      try fixture.expectWhole("f.bin", seed: 55, length: 300_000, fine)
      let outcome = try await fixture.run(
        try fixture.request("/f.bin", as: "second"), configure: { $0.minimumTLS = .tls13 })
      try fixture.expectFailure(.tls, outcome, without: "second")
      #expect(outcome?.attempts == 0)
    }
  }
}
