import HaulTesting
import Testing

/// A server without faults.
@Suite(.timeLimit(.minutes(10)))
struct HonestServerTests {
  @Test
  func `sends the whole resource with its validators, and keeps the connection`() async throws {
    try await withResource { client, server in
      for _ in 0..<3 {
        let response = try await client.get("/f?query=1")
        #expect(response.head.statusLine == "HTTP/1.1 200 OK")
        #expect(response.body.count == 100_000)
        #expect(content.matches(response.body))
        #expect(response.head["ETag"] == "\"seed-2a\"")
        #expect(response.head["Last-Modified"] == "Wed, 01 Jan 2020 00:00:00 GMT")
        #expect(response.head["Accept-Ranges"] == "bytes")
        #expect(response.head["Date"] != nil)
      }
      try await server.waitUntil { $0.requests("/f").count { $0.outcome == .completed } == 3 }
      let seen = server.snapshot
      #expect(seen.connectionsOpened == 1)
      #expect(seen.requests.map(\.connection) == [1, 1, 1])
      #expect(seen.requests.map(\.target) == ["/f?query=1", "/f?query=1", "/f?query=1"])
      #expect(seen.bytesSent("/f") == 300_000)
      #expect(seen.maximumInProgress("/f") == 1)
    }
  }

  @Test(
    arguments: [
      ("0-", 0, 99_999), ("7-19", 7, 19), ("99999-", 99_999, 99_999), ("-5", 99_995, 99_999),
      ("50000-200000", 50_000, 99_999), ("-200000", 0, 99_999), ("12345-12345", 12_345, 12_345),
    ] as [(String, Int64, Int64)])
  func `serves ranges`(range: String, first: Int64, last: Int64) async throws {
    try await withResource { client, server in
      let response = try await client.get("/f", "Range: bytes=\(range)")
      #expect(response.status == 206)
      #expect(response.head["Content-Range"] == "bytes \(first)-\(last)/100000")
      #expect(Int64(response.body.count) == last - first + 1)
      #expect(content.matches(response.body, at: first))
      #expect(server.snapshot.requests.first?.range == "bytes=\(range)")
      try await client.expect(200, "/f")
    }
  }

  @Test(arguments: ["100000-", "100000-100005", "-0"])
  func `answers 416 to a range beyond the end`(range: String) async throws {
    try await withResource { client, _ in
      let response = try await client.get("/f", "Range: bytes=\(range)")
      #expect(response.status == 416)
      #expect(response.head["Content-Range"] == "bytes */100000")
      #expect(response.body.isEmpty)
    }
  }

  @Test(arguments: ["bytes=1-2,5-6", "lines=1-2", "bytes=5-2"])
  func `sends the whole resource for unsupported ranges`(range: String) async throws {
    try await withResource { client, _ in
      try await client.expect(200, "/f", "Range: \(range)")
    }
  }

  @Test func `serves an empty resource: 200, and 416 to a range`() async throws {
    try await withResource(length: 0) { client, _ in
      let whole = try await client.get("/f")
      #expect(whole.status == 200)
      #expect(whole.head["Content-Length"] == "0")
      let range = try await client.get("/f", "Range: bytes=0-")
      #expect(range.status == 416)
      #expect(range.head["Content-Range"] == "bytes */0")
    }
  }

  @Test func `serves the end of a 6 GiB resource`() async throws {
    try await withResource(length: 6 << 30) { client, _ in
      let response = try await client.get("/f", "Range: bytes=4294967295-4294967306")
      #expect(response.head["Content-Range"] == "bytes 4294967295-4294967306/6442450944")
      #expect(content.matches(response.body, at: 4_294_967_295))
    }
  }

  @Test func `answers HEAD with the length and no body, and ignores its range`() async throws {
    try await withResource { client, _ in
      try await client.request("HEAD", "/f", ["Range: bytes=5-9"])
      let head = await client.takeResponse(hasBody: false).head
      #expect(head.status == 200)
      #expect(head["Content-Length"] == "100000")
      try await client.expect(206, "/f", "Range: bytes=5-9")
    }
  }

  @Test(arguments: [
    ("\"seed-2a\"", 206), ("\"other\"", 200), ("W/\"seed-2a\"", 200),
    ("Wed, 01 Jan 2020 00:00:00 GMT", 206), ("Thu, 02 Jan 2020 00:00:00 GMT", 200),
  ])
  func `accepts If-Range by strong tag or exact date only`(validator: String, status: Int)
    async throws
  {
    try await withResource { client, _ in
      let response = try await client.get("/f", "Range: bytes=5-", "If-Range: \(validator)")
      #expect(response.status == status)
      #expect(content.matches(response.body, at: status == 206 ? 5 : 0))
    }
  }

  @Test func `never accepts a weak tag in If-Range`() async throws {
    try await withResource(change: { $0.entityTag = "W/\"w\"" }) { client, _ in
      try await client.expect(200, "/f", "Range: bytes=5-", "If-Range: W/\"w\"")
    }
  }

  @Test func `does not accept a date within the second of Date in If-Range`() async throws {
    try await withResource(change: {
      $0.lastModified = 4_000_000_000
    }) { client, _ in
      let validator = ServerDate.text(4_000_000_000)
      try await client.expect(200, "/f", "Range: bytes=5-", "If-Range: \(validator)")
    }
  }

  @Test func `answers 304 if the client has the version`() async throws {
    try await withResource { client, _ in
      let response = try await client.get("/f", "If-None-Match: \"x\", W/\"seed-2a\"")
      #expect(response.status == 304)
      #expect(response.head["ETag"] == "\"seed-2a\"")
      try await client.expect(200, "/f", "If-None-Match: \"x\"")
    }
  }

  @Test func `announces and serves ranges as the resource says`() async throws {
    try await withResource(change: { $0.acceptRanges = .none }) { client, _ in
      let response = try await client.get("/f", "Range: bytes=5-9")
      #expect(response.status == 200)
      #expect(response.head["Accept-Ranges"] == "none")
    }
    try await withResource(change: { $0.acceptRanges = .absent }) { client, _ in
      let response = try await client.get("/f", "Range: bytes=5-9")
      #expect(response.status == 206)
      #expect(response.head["Accept-Ranges"] == nil)
    }
  }

  @Test func `sends the fields of the resource, and no others`() async throws {
    try await withResource(change: {
      $0.entityTag = nil
      $0.lastModified = nil
      $0.dateOffset = nil
      $0.contentType = "text/html"
      $0.contentDisposition = "attachment; filename=\"x\""
      $0.headers = ["X-One: 1", "X-One: 2"]
    }) { client, _ in
      let head = try await client.get("/f").head
      #expect(
        head.lines == [
          "HTTP/1.1 200 OK", "Content-Type: text/html",
          "Content-Disposition: attachment; filename=\"x\"", "Accept-Ranges: bytes", "X-One: 1",
          "X-One: 2", "Content-Length: 100000",
        ])
    }
  }

  @Test func `redirects to the address of the resource`() async throws {
    try await withResource(change: {
      $0.redirect = .init(status: 307, location: "http://localhost:{port}/g")
    }) { client, server in
      let response = try await client.get("/f")
      #expect(response.status == 307)
      #expect(response.head["Location"] == "http://localhost:\(server.port)/g")
    }
  }

  @Test func `answers 404 to other paths and keeps the connection`() async throws {
    try await withResource { client, server in
      try await client.expect(404, "/other")
      try await client.expect(200, "/f")
      #expect(server.snapshot.requests.map(\.path) == ["/other", "/f"])
    }
  }

  @Test func `answers pipelined requests in order`() async throws {
    try await withResource { client, _ in
      try await client.send(
        (0..<5).map { "GET /f HTTP/1.1\r\nHost: h\r\nRange: bytes=\($0)-\($0 + 9)\r\n\r\n" }
          .joined())
      for index in 0..<5 {
        #expect(content.matches(await client.takeResponse().body, at: Int64(index)))
      }
    }
  }

  @Test func `closes if the client says so or uses HTTP/1.0`() async throws {
    for request in [
      "GET /f HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "GET /f HTTP/1.0\r\n\r\n",
    ] {
      try await withResource { client, _ in
        try await client.send(request)
        let response = await client.takeResponse()
        #expect(response.body.count == 100_000)
        #expect(response.head["Connection"] == "close")
        let rest = await client.takeToEnd()
        #expect(rest.bytes.isEmpty)
        #expect(rest.end == .eof)
      }
    }
  }

  @Test func `accepts the absolute form, as a proxy receives it`() async throws {
    try await withResource { client, server in
      try await client.expect(200, "http://example.com:80/f?q")
      #expect(server.snapshot.requestCount("/f") == 1)
    }
  }

  @Test func `records the fields of a request in their own spelling`() async throws {
    try await withResource { client, server in
      _ = try await client.get("/f", "X-API-Key: canary", "cookie: a=b", "Cookie: c=d")
      #expect(
        server.snapshot.requests.first?.headerLines == [
          "Host: localhost", "X-API-Key: canary", "cookie: a=b", "Cookie: c=d",
        ])
      #expect(server.snapshot.requests.first?.header("x-api-key") == "canary")
    }
  }
}
