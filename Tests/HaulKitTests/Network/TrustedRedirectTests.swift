import HaulCore
import HaulKit
import HaulTesting
import Testing

@Suite struct TrustedRedirectTests {
  private static let file = FaultScript.Resource("/f.bin", seed: 45, length: 300_000)

  /// A redirect from one https origin to another of the same authority; returns the second request.
  private func follow(trusting hosts: Set<String>, to host: String) async throws -> RequestRecord {
    try await DownloadFixture.with([]) { outer in
      let authority = try CertificateAuthority()
      let other = try await FaultServer.start(
        FaultScript([Self.file]), tls: .good, authority: authority)
      let start = FaultScript.Resource.redirecting("/start", to: other.url("/f.bin", host: host))
      let first = try await FaultServer.start(
        FaultScript([start]), tls: .good, authority: authority)
      let fixture = DownloadFixture(server: first, directory: outer.directory)
      let address = first.url("/start").replacing("://", with: "://user:secret@")
      let outcome = try await fixture.run(
        try fixture.request("/start", as: "f.bin") {
          $0.url = try ResourceURL(address)
          $0.headers = [("X-Key", "value")]
          $0.trustedRedirectHosts = hosts
        })
      try fixture.expectWhole("f.bin", seed: 45, length: 300_000, outcome)
      let record = other.snapshot.requests.first
      try await first.shutdown()
      try await other.shutdown()
      return try #require(record)
    }
  }

  @Test func `A trusted host gets headers and password over https`() async throws {
    let record = try await follow(trusting: ["LOCALHOST"], to: "localhost")
    #expect(record.header("X-Key") == "value")
    #expect(record.header("Authorization")?.hasPrefix("Basic ") == true)
  }

  @Test(arguments: [["localhost"], ["example.org"], []] as [Set<String>])
  func `A host that is not trusted gets neither headers nor password`(hosts: Set<String>)
    async throws
  {
    let record = try await follow(trusting: hosts, to: "127.0.0.1")
    #expect(record.header("X-Key") == nil)
    #expect(record.header("Authorization") == nil)
  }

  @Test func `A trusted host gets nothing over http, and its certificate is checked`() throws {
    var request = FetchRequest(
      url: try ResourceURL("http://user:secret@a.example/"),
      headers: HeaderFields([("X-Key", "value")]), allowInsecure: true)
    request.trustedHosts = ["b.example"]
    let plain = request.redirected(to: try ResourceURL("http://b.example/"))
    #expect(plain.headers["X-Key"] == nil)
    #expect(plain.url.credentials == nil)
    let secure = request.redirected(to: try ResourceURL("https://b.example/"))
    #expect(secure.headers["X-Key"] == "value")
    #expect(secure.url.credentials?.password == "secret")
    #expect(!secure.allowInsecure)
  }
}
