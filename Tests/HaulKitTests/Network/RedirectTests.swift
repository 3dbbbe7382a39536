import HaulCore
import HaulTesting
import Testing

extension FaultScript.Resource {
  /// A path that only redirects.
  static func redirecting(_ path: String, status: Int = 302, to location: String) -> Self {
    FaultScript.Resource(path, length: 0).with {
      $0.redirect = .init(status: status, location: location)
    }
  }
}

@Suite struct RedirectTests {
  private static let file = FaultScript.Resource("/file.bin", seed: 43, length: 100_000)

  private func chain(_ hops: Int) -> [FaultScript.Resource] {
    (0..<hops).map { hop in
      .redirecting("/\(hop)", to: hop == hops - 1 ? "/file.bin" : "/\(hop + 1)")
    } + [Self.file]
  }

  @Test(arguments: [301, 302, 303, 307, 308])
  func `A redirect is followed, and the name comes from the given address`(
    status: Int
  ) async throws {
    let start = FaultScript.Resource.redirecting("/given.bin", status: status, to: "/file.bin")
    try await DownloadFixture.with([start, Self.file]) { fixture in
      let outcome = try await fixture.finish(try fixture.request("/given.bin"))
      try fixture.expectWhole("given.bin", seed: 43, length: 100_000, outcome)
    }
  }

  @Test func `A path that another origin chose gets no secret, in further ranges either`()
    async throws
  {
    let large = FaultScript.Resource("/file.bin", seed: 43, length: 8 << 20)
    let start = FaultScript.Resource("/start", seed: 1, length: 1)
    try await DownloadFixture.with([start, large]) { fixture in
      let other = try await FaultServer.start(
        FaultScript([FaultScript.Resource("/hop", seed: 1, length: 1)]))
      fixture.server.setFaults("/start", [Fault(.redirect(location: other.url("/hop")))])
      other.setFaults("/hop", [Fault(.redirect(location: fixture.server.url("/file.bin")))])
      let outcome = try await fixture.finish(
        try fixture.request("/start", as: "f.bin") {
          $0.headers = [("X-Key", "canary")]
          ($0.connections, $0.minimumSplit) = (4, 1 << 20)
        })
      try fixture.expectWhole("f.bin", seed: 43, length: 8 << 20, outcome)
      let requests = fixture.server.snapshot.requests
      let given = requests.filter { $0.path == "/start" }
      let chosen = requests.filter { $0.path == "/file.bin" }
      #expect(given.allSatisfy { $0.headers["X-Key"] == "canary" })
      #expect(chosen.count > 1)
      #expect(chosen.allSatisfy { $0.headers["X-Key"] == nil })
      try await other.shutdown()
    }
  }

  @Test func `Twenty redirects are followed`() async throws {
    try await DownloadFixture.with(chain(20)) { fixture in
      let outcome = try await fixture.finish(try fixture.request("/0", as: "f.bin"))
      try fixture.expectWhole("f.bin", seed: 43, length: 100_000, outcome)
    }
  }

  @Test func `Twenty-one redirects are too many`() async throws {
    try await DownloadFixture.with(chain(21)) { fixture in
      let outcome = try await fixture.finish(try fixture.request("/0", as: "f.bin"))
      try fixture.expectFailure(.tooManyRedirects, outcome, without: "f.bin")
      #expect(outcome.attempts == 0)
      #expect(fixture.server.snapshot.requestCount("/file.bin") == 0)
    }
  }

  @Test func `A redirect cycle is detected when it closes`() async throws {
    try await DownloadFixture.with([.redirecting("/a", to: "/b"), .redirecting("/b", to: "/a")]) {
      fixture in
      let outcome = try await fixture.finish(try fixture.request("/a"))
      try fixture.expectFailure(.tooManyRedirects, outcome)
      #expect(outcome.attempts == 0)
      #expect(fixture.server.snapshot.requests.count == 2)
      #expect(try fixture.names().isEmpty)
    }
  }

  @Test func `A redirect from https to http is refused`() async throws {
    try await withFaultServer(FaultScript([Self.file])) { plain in
      let start = FaultScript.Resource.redirecting("/start", to: plain.url("/file.bin"))
      try await DownloadFixture.with([start], tls: .good) { fixture in
        let outcome = try await fixture.finish(try fixture.request("/start"))
        try fixture.expectFailure(.redirectRefused, outcome, without: "start")
        #expect(outcome.attempts == 0)
        #expect(plain.snapshot.requests.isEmpty)
      }
    }
  }

  @Test(arguments: [
    "file:///etc/passwd", "ftp://127.0.0.1/f", "data:text/plain,hello", "unix:/tmp/socket",
    "http+unix://%2Ftmp%2Fsocket/f", "gopher://127.0.0.1:{port}/f", "javascript:alert(1)",
    "http://user:secret@127.0.0.1:{port}/file.bin", "http://user@127.0.0.1:{port}/file.bin",
    "http://@127.0.0.1:{port}/file.bin", "http:///file.bin", "http://127.0.0.1:99999/file.bin",
  ])
  func `A redirect to another scheme or with user information is refused`(
    location: String
  ) async throws {
    try await DownloadFixture.with([.redirecting("/start", to: location), Self.file]) { fixture in
      let outcome = try await fixture.finish(try fixture.request("/start"))
      try fixture.expectFailure(.redirectRefused, outcome, without: "start")
      #expect(outcome.attempts == 0)
      #expect(fixture.server.snapshot.requests.map(\.path) == ["/start"])
      #expect(outcome.result.error?.message.contains("secret") == false)
    }
  }

  @Test func `A redirect status without Location publishes nothing`() async throws {
    let fault = Fault(.respond(status: 302, headers: [], body: "<html>moved</html>"))
    let resource = FaultScript.Resource("/f.bin", seed: 1, length: 100, faults: [fault])
    try await DownloadFixture.with([resource]) { fixture in
      let outcome = try await fixture.finish(try fixture.request("/f.bin"))
      try fixture.expectFailure(.httpStatus, outcome, without: "f.bin")
    }
  }
}
