import HaulTesting
import Testing

/// A response with a faulty end.
@Suite(.timeLimit(.minutes(10)))
struct ConnectionCutTests {
  @Test(arguments: [0, 1, 65_536, 99_999, 100_000])
  func `is reset after exactly so many body bytes`(after count: Int) async throws {
    try await withResource(Fault(.reset(after: Int64(count)))) { client, server in
      try await client.request("GET", "/f")
      let head = await client.takeHead()
      #expect(head["Content-Length"] == "100000")
      let rest = await client.takeToEnd()
      #expect(rest.end == .reset)
      #expect(rest.bytes.count == count)
      #expect(content.matches(rest.bytes))
      #expect(server.snapshot.bytesSent("/f") == Int64(count))
      #expect(server.snapshot.requests.first?.outcome == .reset)
    }
  }

  @Test func `is reset only after a slow reader has received the bytes before`() async throws {
    try await withResource(length: 8 << 20, Fault(.reset(after: 8 << 20 - 1))) { client, _ in
      try await client.request("GET", "/f")
      _ = await client.takeHead()
      let rest = await client.takeToEnd()
      #expect(rest.bytes.count == 8 << 20 - 1)
      #expect(rest.end == .reset)
    }
  }

  @Test(arguments: [0, 777, 100_000])
  func `is closed after exactly so many body bytes`(after count: Int) async throws {
    try await withResource(Fault(.close(after: Int64(count)))) { client, server in
      try await client.request("GET", "/f", ["Range: bytes=0-"])
      let head = await client.takeHead()
      #expect(head["Content-Length"] == "100000")
      let rest = await client.takeToEnd()
      #expect(rest.end == .eof)
      #expect(rest.bytes.count == count)
      #expect(server.snapshot.requests.first?.outcome == .closed)
    }
  }

  @Test func `is not cut if it ends before the cut`() async throws {
    try await withResource(Fault(.reset(after: 11), .stallInHead(after: 100_000))) {
      client, server in
      let response = try await client.get("/f", "Range: bytes=0-9")
      #expect(response.body.count == 10)
      try await server.waitUntil { $0.requests.first?.outcome == .completed }
      try await client.expect(206, "/f", "Range: bytes=0-4")
    }
  }

  @Test(arguments: [0, 5000, 99_999])
  func `stalls after so many bytes until it is released`(after count: Int) async throws {
    try await withResource(Fault(.stall(after: Int64(count)))) { client, server in
      try await client.request("GET", "/f")
      try await server.waitForHeld("/f")
      #expect(server.snapshot.bytesSent("/f") == Int64(count))
      #expect(server.snapshot.inProgress("/f") == 1)
      _ = await client.takeHead()
      let before = await client.take(count)
      #expect(client.pending.isEmpty)
      #expect(server.release("/f") == 1)
      let after = await client.take(100_000 - count)
      #expect(content.matches(before + after))
      try await server.waitUntil { $0.requests.first?.outcome == .completed }
      #expect(server.snapshot.held("/f") == 0)
    }
  }

  @Test func `stalls before the head`() async throws {
    try await withResource(Fault(.stallBeforeHead)) { client, server in
      try await client.request("GET", "/f")
      try await server.waitForHeld("/f")
      #expect(client.pending.isEmpty)
      server.release()
      #expect(await client.takeResponse().body.count == 100_000)
    }
  }

  @Test func `stalls in the middle of the head`() async throws {
    try await withResource(Fault(.stallInHead(after: 30))) { client, server in
      try await client.request("GET", "/f")
      try await server.waitForHeld("/f")
      let first = await client.take(30)
      #expect(client.pending.isEmpty)
      #expect(String(decoding: first, as: UTF8.self).hasPrefix("HTTP/1.1 200 OK\r\nDate:"))
      server.release("/f")
      #expect(await client.takeHead().text.hasSuffix("Content-Length: 100000\r\n\r\n"))
    }
  }

  @Test(arguments: [Fault.Ending.reset, .close])
  func `is reset or closed in the head`(how: Fault.Ending) async throws {
    try await withResource(Fault(.cut(how: how, after: 20, in: .head))) { client, _ in
      try await client.request("GET", "/f")
      let all = await client.takeToEnd()
      #expect(all.bytes.count == 20)
      #expect(all.end == (how == .reset ? .reset : .eof))
    }
  }

  @Test func `can stall and then be reset`() async throws {
    try await withResource(Fault(.reset(after: 200), .stall(after: 100))) { client, server in
      try await client.request("GET", "/f")
      try await server.waitForHeld("/f")
      server.release()
      _ = await client.takeHead()
      let rest = await client.takeToEnd()
      #expect(rest.bytes.count == 200)
      #expect(rest.end == .reset)
    }
  }

  @Test
  func `that the client leaves is recorded as abandoned and no longer in progress`() async throws {
    try await withResource(Fault(.stall(after: 10))) { client, server in
      try await client.request("GET", "/f")
      try await server.waitForHeld("/f")
      await client.close()
      try await server.waitUntil { $0.inProgress("/f") == 0 && $0.held("/f") == 0 }
      #expect(server.snapshot.requests.first?.outcome == .abandoned)
      #expect(server.snapshot.requests.first?.bodyBytesSent == 10)
    }
  }

  @Test(arguments: [Fault.Action.drip(bytes: 3, milliseconds: 1), .rate(bytesPerSecond: 5000)])
  func `drips`(action: Fault.Action) async throws {
    try await withResource(length: 100, Fault(action)) { client, _ in
      let response = try await client.get("/f")
      #expect(content.matches(response.body))
      #expect(response.body.count == 100)
    }
  }

  @Test func `closes after a whole answer, with or without an announcement`() async throws {
    for announced in [true, false] {
      try await withResource(Fault(.closeAfterwards(announced: announced))) { client, _ in
        let response = try await client.get("/f")
        #expect(response.body.count == 100_000)
        #expect((response.head["Connection"] == "close") == announced)
        let rest = await client.takeToEnd()
        #expect(rest.bytes.isEmpty)
        #expect(rest.end == .eof)
      }
    }
  }

  @Test func `is reset with all others when the connections are dropped`() async throws {
    try await withResource(Fault(.stall(after: 10))) { client, server in
      try await client.request("GET", "/f")
      try await server.waitForHeld("/f")
      _ = await client.takeHead()
      _ = await client.take(10)
      server.dropConnections()
      #expect(await client.takeToEnd().end == .reset)
      try await server.waitUntil { $0.connectionsOpen == 0 }
      #expect(server.snapshot.requests.first?.outcome == .reset)
    }
  }
}
