import HaulCore
import HaulHTTP
import HaulTesting
import Testing

/// Connections between requests: those of Haul's plain HTTP client, and those of the TLS client.
@Suite(.timeLimit(.minutes(10))) struct KeptConnectionTests {
  private static let length: Int64 = 300_000

  /// Runs `body` with a transport that keeps connections for so long.
  private func withTransport(
    _ tls: FaultServerTLS, keepAlive: Duration = .seconds(60), faults: [Fault] = [],
    hosts: [String] = [],
    _ body: (DownloadFixture, HTTPTransport, FetchRequest) async throws -> Void
  ) async throws {
    let file = FaultScript.Resource("/f.bin", seed: 3, length: Self.length, faults: faults)
    try await DownloadFixture.with([file], tls: tls) { fixture in
      var settings = HTTPTransport.Settings()
      settings.keepAlive = keepAlive
      for host in hosts { settings.addresses[host] = "127.0.0.1" }
      if tls != .none { settings.certificateAuthorities = try fixture.authorityFile() }
      let transport = try HTTPTransport(settings)
      do {
        try await body(fixture, transport, FetchRequest(url: try fixture.request("/f.bin").url))
      } catch {
        await transport.shutdown()
        throw error
      }
      await transport.shutdown()
    }
  }

  private func read(
    _ request: FetchRequest, by transport: HTTPTransport
  ) async throws -> Int {
    let response = try await transport.fetch(request)
    var count = 0
    for try await chunk in response.body { count += chunk.count }
    return count
  }

  @Test func `A server that leads through any number of hosts leaves a bounded number of clients`()
    async throws
  {
    let hosts = (0..<80).map { "n\($0).example" }
    try await withTransport(.good, hosts: hosts) { fixture, transport, request in
      let port = request.url.origin.port
      for host in hosts {
        let url = try ResourceURL("https://\(host):\(port)/f.bin")
        let count = try await read(FetchRequest(url: url, allowInsecure: true), by: transport)
        #expect(count == Int(Self.length))
      }
      #expect(transport.clientCount == 64)
      let again = try ResourceURL("https://\(hosts[0]):\(port)/f.bin")
      let count = try await read(FetchRequest(url: again, allowInsecure: true), by: transport)
      #expect(count == Int(Self.length), "one that was closed is made again")
    }
  }

  @Test(arguments: [FaultServerTLS.none, .good])
  func `A head that fills a connection's buffer is an error, and not the end of the process`(
    tls: FaultServerTLS
  ) async throws {
    try await withTransport(tls) { fixture, transport, request in
      let field = HeaderFields([("X-Long", String(repeating: "a", count: 70_000))])
      let error = await #expect(throws: TransferError.self) {
        _ = try await transport.send(
          SendRequest("PUT", request.url, headers: field))
      }
      #expect(error?.code == .protocolViolation)
      #expect(fixture.server.snapshot.requests.isEmpty)
    }
  }

  @Test(arguments: [FaultServerTLS.none, .good])
  func `Consecutive requests share a connection`(tls: FaultServerTLS) async throws {
    try await withTransport(tls) { fixture, transport, request in
      for _ in 1...3 {
        let count = try await read(request, by: transport)
        #expect(count == Int(Self.length))
      }
      #expect(Set(fixture.server.snapshot.requests.map(\.connection)).count == 1)
    }
  }

  @Test(arguments: [FaultServerTLS.none, .good])
  func `An idle connection is closed after the configured time`(tls: FaultServerTLS) async throws {
    try await withTransport(tls, keepAlive: .milliseconds(50)) { fixture, transport, request in
      _ = try await read(request, by: transport)
      try await fixture.server.waitUntil { $0.connectionsOpen == 0 }
      #expect(try await read(request, by: transport) == Int(Self.length))
    }
  }

  @Test(arguments: [FaultServerTLS.none, .good])
  func `A released body closes its connection, and other requests do not wait for that`(
    tls: FaultServerTLS
  ) async throws {
    let stall = Fault(.stall(after: 200_000), when: .request(1))
    try await withTransport(tls, faults: [stall]) { fixture, transport, request in
      do {
        let response = try await transport.fetch(request)
        for try await _ in response.body { break }
      }
      #expect(try await read(request, by: transport) == Int(Self.length))
      try await fixture.server.waitUntil { $0.connectionsOpen == 1 }
    }
  }

  @Test(
    arguments: [
      "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
      "Transfer-Encoding: chunked\r\n\r\n5 \r\nhello\r\n0\r\n\r\n",
    ], [FaultServerTLS.none, .good])
  func `After a repaired answer, its connection is closed`(
    rest: String, tls: FaultServerTLS
  ) async throws {
    let raw = Fault(.raw(text: "HTTP/1.1 200 OK\r\n\(rest)", then: .stall))
    try await withTransport(tls, faults: [raw]) { fixture, transport, request in
      #expect(try await read(request, by: transport) == 5)
      try await fixture.server.waitUntil { $0.connectionsOpen == 0 }
    }
  }

  @Test(arguments: [FaultServerTLS.none, .good])
  func `After an answer that ends with its connection, a new connection is opened`(
    tls: FaultServerTLS
  ) async throws {
    let close = Fault(.closeDelimited(), when: .request(1))
    try await withTransport(tls, faults: [close]) { fixture, transport, request in
      for _ in 1...2 {
        let count = try await read(request, by: transport)
        #expect(count == Int(Self.length))
      }
      #expect(Set(fixture.server.snapshot.requests.map(\.connection)).count == 2)
    }
  }

  @Test(arguments: [FaultServerTLS.none, .good])
  func `A connection that the server asks to close gets no further request`(
    tls: FaultServerTLS
  ) async throws {
    let last = Fault(.addHeaders(fields: ["Connection: close"]), when: .request(1))
    try await withTransport(tls, faults: [last]) { fixture, transport, request in
      for _ in 1...2 {
        let count = try await read(request, by: transport)
        #expect(count == Int(Self.length))
      }
      #expect(Set(fixture.server.snapshot.requests.map(\.connection)).count == 2)
    }
  }

  @Test(arguments: [FaultServerTLS.none, .good])
  func `An unrequested answer is not taken for the next one`(
    tls: FaultServerTLS
  ) async throws {
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"
    let text = answer + "abc" + answer + "xyz"
    let twice = Fault(.raw(text: text, then: .stall), when: .request(1))
    try await withTransport(tls, faults: [twice]) { fixture, transport, request in
      let first = try await read(request, by: transport)
      #expect(first == 3)
      do {
        let second = try await read(request, by: transport)
        #expect(second == Int(Self.length))
      } catch let error as TransferError {
        // It may have been sent before the connection was closed because of the unrequested bytes.
        #expect(error.code == .connectionLost && error.isRetryable)
      }
    }
  }

  @Test(arguments: [FaultServerTLS.none, .good])
  func `A request that is already cancelled is not sent`(tls: FaultServerTLS) async throws {
    try await withTransport(tls) { fixture, transport, request in
      _ = try await read(request, by: transport)
      let task = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        _ = try await transport.fetch(request)
      }
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(fixture.server.snapshot.requests.count == 1)
    }
  }

  @Test(arguments: [FaultServerTLS.none, .good])
  func `A header field with a line break is refused and not sent`(tls: FaultServerTLS) async throws
  {
    try await withTransport(tls) { fixture, transport, request in
      var broken = request
      broken.headers.append("X-Note", "one\r\nHost: another")
      do {
        _ = try await transport.fetch(broken)
        Issue.record("it was sent")
      } catch let error as TransferError {
        #expect(error.code == .protocolViolation)
        #expect(error.message.hasPrefix("the request could not be sent"))
      }
      #expect(fixture.server.snapshot.requests.isEmpty)
      #expect(try await read(request, by: transport) == Int(Self.length))
    }
  }

  @Test(arguments: [FaultServerTLS.none, .good])
  func `A request can be cancelled while it waits for its answer`(tls: FaultServerTLS) async throws
  {
    let silent = Fault(.stallBeforeHead)
    try await withTransport(tls, faults: [silent]) { fixture, transport, request in
      let task = Task { try await transport.fetch(request) }
      try await fixture.server.waitForRequests(1, path: "/f.bin")
      task.cancel()
      _ = await task.result
      try await fixture.server.waitUntil { $0.connectionsOpen == 0 }
    }
  }
}
