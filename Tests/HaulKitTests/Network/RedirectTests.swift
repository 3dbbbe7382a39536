import HaulCore
import HaulKit
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

  @Test(arguments: [300, 301, 302, 303, 307, 308])
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
    let large = FaultScript.Resource("/file.bin", seed: 43, length: 8 << 20, faults: [.firstHeld])
    let start = FaultScript.Resource("/start", seed: 1, length: 1)
    try await DownloadFixture.with([start, large]) { fixture in
      let other = try await FaultServer.start(
        FaultScript([FaultScript.Resource("/hop", seed: 1, length: 1)]))
      fixture.server.setFaults("/start", [Fault(.redirect(location: other.url("/hop")))])
      other.setFaults("/hop", [Fault(.redirect(location: fixture.server.url("/file.bin")))])
      let request = try fixture.request("/start", as: "f.bin") {
        $0.headers = [("X-Key", "canary")]
        ($0.connections, $0.minimumSplit) = (4, 1 << 20)
      }
      let outcome = try await fixture.finishWithTwo(request, path: "/file.bin")
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

  @Test func `A redirect cycle is detected when it closes, with a range and without`() async throws
  {
    try await DownloadFixture.with([.redirecting("/a", to: "/b"), .redirecting("/b", to: "/a")]) {
      fixture in
      let outcome = try await fixture.finish(try fixture.request("/a"))
      try fixture.expectFailure(.tooManyRedirects, outcome)
      #expect(outcome.attempts == 0)
      #expect(
        fixture.server.snapshot.requests.map { $0.range == nil } == [false, false, true, true])
      #expect(try fixture.names().isEmpty)
    }
  }

  private func repeated(
    _ status: Int, _ more: String..., times: Int? = nil,
    change: (inout DownloadRequest) -> Void = { _ in },
    _ check: (DownloadFixture, DownloadFixture.Outcome) throws -> Void
  ) async throws {
    let fault = Fault.status(status, headers: ["Location: /f.bin"] + more, times: times)
    let file = FaultScript.Resource("/f.bin", seed: 43, length: 100_000, faults: [fault])
    try await DownloadFixture.with([file]) { fixture in
      try check(fixture, try await fixture.finish(try fixture.request("/f.bin", change)))
    }
  }

  @Test(arguments: [302, 303, 307])
  func `A redirect to the same address is followed until the file is there`(
    status: Int
  ) async throws {
    try await repeated(status, times: 3) { fixture, outcome in
      try fixture.expectWhole("f.bin", seed: 43, length: 100_000, outcome)
      #expect(outcome.attempts == 0)
      #expect(fixture.server.snapshot.requests.count == 4)
    }
  }

  @Test func `A redirect to the same address waits as long as the server asks`() async throws {
    let start = ContinuousClock.now
    try await repeated(302, "Retry-After: 2", times: 1) { fixture, outcome in
      try fixture.expectWhole("f.bin", seed: 43, length: 100_000, outcome)
      #expect(ContinuousClock.now - start >= .seconds(2))
      #expect(outcome.attempts == 0)
    }
  }

  @Test func `A long wait before the same address counts as an attempt`() async throws {
    try await repeated(
      302, "Retry-After: 60", change: { $0.retry.maximumTimeWithoutProgress = .seconds(30) }
    ) { fixture, outcome in
      try fixture.expectFailure(.httpStatus, outcome, without: "f.bin")
      #expect(outcome.result.error?.status == 302)
      #expect(fixture.server.snapshot.requests.count == 1)
    }
  }

  @Test(arguments: [301, 308])
  func `A permanent redirect to the same address is a loop`(status: Int) async throws {
    try await repeated(status) { fixture, outcome in
      try fixture.expectFailure(.tooManyRedirects, outcome, without: "f.bin")
      // The second one has no range.
      #expect(fixture.server.snapshot.requests.count == 2)
    }
  }

  @Test(.timeLimit(.minutes(10)))
  func `Twenty redirects to the same address are a loop`() async throws {
    try await repeated(302) { fixture, outcome in
      try fixture.expectFailure(.tooManyRedirects, outcome, without: "f.bin")
      // As often without a range.
      #expect(fixture.server.snapshot.requests.count == 42)
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
    "http://:x@127.0.0.1:{port}/file.bin", "http:///file.bin", "http://127.0.0.1:99999/file.bin",
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

  @Test func `Nothing before an at sign is no user name`() async throws {
    let start = FaultScript.Resource.redirecting("/f.bin", to: "http://@127.0.0.1:{port}/file.bin")
    try await DownloadFixture.with([start, Self.file]) { fixture in
      let outcome = try await fixture.finish(try fixture.request("/f.bin"))
      try fixture.expectWhole("f.bin", seed: 43, length: 100_000, outcome)
      #expect(
        fixture.server.snapshot.requests.allSatisfy { $0.headers["Authorization"] == nil })
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
