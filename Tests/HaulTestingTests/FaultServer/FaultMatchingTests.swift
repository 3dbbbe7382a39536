import HaulTesting
import Testing

/// Controlling the server.
@Suite(.timeLimit(.minutes(10)))
struct FaultMatchingTests {
  private let refusal = Fault.Action.status(503)

  private func statuses(_ match: Fault.Match, _ requests: [[String]]) async throws -> [Int] {
    var statuses: [Int] = []
    try await withResource(Fault(refusal, when: match)) { client, _ in
      for fields in requests {
        try await client.request("GET", "/f", fields)
        statuses.append(await client.takeResponse().status ?? 0)
      }
    }
    return statuses
  }

  @Test
  func `faults apply to the n-th request, the first ones, or after some others`() async throws {
    let four = Array(repeating: [String](), count: 4)
    #expect(try await statuses(.request(2), four) == [200, 503, 200, 200])
    #expect(try await statuses(.first(2), four) == [503, 503, 200, 200])
    #expect(try await statuses(.init(firstRequest: 3), four) == [200, 200, 503, 503])
    #expect(try await statuses(.init(skip: 1, times: 2), four) == [200, 503, 503, 200])
    #expect(try await statuses(.init(), four) == [503, 503, 503, 503])
  }

  @Test
  func `faults apply to requests with a range, a condition, neither, an offset or a field`()
    async throws
  {
    let requests = [
      [], ["Range: bytes=50-"], ["Range: bytes=5-9", "If-Range: \"seed-2a\""], ["X-Key: 1"],
    ]
    #expect(try await statuses(.init(has: .range), requests) == [200, 503, 503, 200])
    #expect(try await statuses(.init(has: .ifRange), requests) == [200, 206, 503, 200])
    #expect(try await statuses(.init(has: .neither), requests) == [503, 206, 206, 503])
    #expect(try await statuses(.init(offsetAtLeast: 50), requests) == [200, 503, 206, 200])
    #expect(try await statuses(.init(offsetBelow: 50), requests) == [503, 206, 503, 503])
    #expect(try await statuses(.init(withHeader: "x-key"), requests) == [200, 206, 206, 503])
    #expect(try await statuses(.init(withoutHeader: "x-key"), requests) == [503, 503, 503, 200])
    #expect(try await statuses(.first(1, has: .range), requests) == [200, 503, 206, 200])
    #expect(try await statuses(.init(method: "HEAD"), requests) == [200, 206, 206, 200])
  }

  @Test func `faults apply to additional connections only, or beyond a limit`() async throws {
    try await withResource(
      Fault(.status(429), when: .init(othersInProgress: 2)),
      Fault(.stall(after: 10), when: .init(lastRequest: 2))
    ) { first, server in
      let second = try await WireClient.connect(server)
      let third = try await WireClient.connect(server)
      try await first.request("GET", "/f")
      try await server.waitForHeld("/f")
      try await second.request("GET", "/f")
      try await server.waitForHeld("/f", count: 2)
      try await third.expect(429, "/f")
      #expect(server.snapshot.maximumInProgress("/f") == 3)
      #expect(server.release() == 2)
      #expect(await first.takeResponse().body.count == 100_000)
      #expect(await second.takeResponse().body.count == 100_000)
      try await third.expect(200, "/f")
      await second.close()
      await third.close()
    }
  }

  @Test
  func `a resource is replaced while the server runs; responses in progress do not change`()
    async throws
  {
    try await withResource(Fault(.stall(after: 10), when: .request(1))) { client, server in
      try await client.request("GET", "/f")
      try await server.waitForHeld("/f")
      #expect(server.replaceContent("/f", seed: 43))
      server.release()
      #expect(content.matches(await client.takeResponse().body))
      let response = try await client.get("/f", "Range: bytes=5-", "If-Range: \"seed-2a\"")
      #expect(response.status == 200)
      #expect(response.head["ETag"] == "\"seed-2b\"")
      #expect(SeededContent.matches(seed: 43, response.body))
    }
  }

  @Test func `faults are set and cleared, resources added, scripts replaced`() async throws {
    try await withResource { client, server in
      try await client.expect(200, "/f")
      #expect(server.setFaults("/f", [Fault(refusal, when: .first(1))]))
      try await client.expect(503, "/f")
      try await client.expect(200, "/f")
      #expect(!server.setFaults("/g", []))
      server.add(.init("/g", length: 5))
      try await client.expect(200, "/g")
      server.replaceScript(FaultScript([.init("/h", length: 5)]))
      try await client.expect(404, "/f")
      try await client.expect(200, "/h")
      #expect(server.script.resources.map(\.path) == ["/h"])
    }
  }

  @Test func `a wait for an unmet condition ends with the state of the server`() async throws {
    try await withResource { client, server in
      try await client.expect(200, "/f")
      try await server.waitForRequests(1)
      try await server.waitUntil { $0.bytesSent("/f") == 100_000 }
      let error = await #expect(throws: FaultServer.TimedOut.self) {
        try await server.waitUntil(timeout: .milliseconds(50)) { $0.requestCount("/f") > 1 }
      }
      #expect(error?.snapshot.requestCount("/f") == 1)
    }
  }

  @Test func `a request body is counted and dropped`() async throws {
    try await withResource { client, server in
      try await client.send("POST /f HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello")
      #expect(await client.takeResponse().body.count == 100_000)
      #expect(server.snapshot.requests.first?.bodyReceived == 5)
    }
  }

  @Test func `the control endpoints report, reset and replace`() async throws {
    try await withResource { client, server in
      try await client.expect(200, "/f")
      let stats = String(decoding: try await client.get("/_control/stats").body, as: UTF8.self)
      #expect(stats.hasPrefix("{\"bytes\":100000,\"connections\":1,"))
      #expect(server.snapshot.requests.count == 1)
      try await client.request("POST", "/_control/reset-stats", ["Content-Length: 0"])
      #expect(await client.takeResponse().status == 200)
      #expect(server.snapshot.total.bytes == 0)
      #expect(server.snapshot.requests.isEmpty)
      let script = #"{"resources":[{"path":"/new","length":3}]}"#
      try await client.request(
        "POST", "/_control/script", ["Content-Length: \(script.utf8.count)"])
      try await client.send(script)
      #expect(await client.takeResponse().status == 200)
      try await client.expect(200, "/new")
      #expect(server.snapshot.requests.map(\.number) == [2])
      try await client.request("POST", "/_control/script", ["Content-Length: 2"])
      try await client.send("{}")
      #expect(await client.takeResponse().status == 400)
    }
  }

  @Test func `several servers run in one process, and a port is free afterwards`() async throws {
    let first = try await FaultServer.start(FaultScript([.init("/f", seed: 42, length: 9)]))
    let second = try await FaultServer.start(FaultScript([.init("/f", seed: 43, length: 9)]))
    let client = try await WireClient.connect(first)
    #expect(content.matches(try await client.get("/f").body))
    let other = try await WireClient.connect(second)
    #expect(SeededContent.matches(seed: 43, try await other.get("/f").body))
    let port = first.port
    try await first.shutdown()
    try await second.shutdown()
    #expect(await client.takeToEnd().bytes.isEmpty)
    let third = try await FaultServer.start(FaultScript(), port: port)
    #expect(third.port == port)
    try await third.shutdown()
  }
}
