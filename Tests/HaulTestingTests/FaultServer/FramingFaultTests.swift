import HaulTesting
import Testing

/// Framing faults.
@Suite(.timeLimit(.minutes(10)))
struct FramingFaultTests {
  /// The head and every byte after it; the client asks the server to close the connection
  /// afterwards.
  private func exchange(
    length: Int64 = 1000, method: String = "GET", keepAlive: Bool = false,
    _ actions: Fault.Action...
  ) async throws -> (head: WireHead, rest: [UInt8], end: WireClient.End) {
    var fault = Fault()
    fault.actions = actions
    var result: (WireHead, [UInt8], WireClient.End)?
    try await withResource(length: length, fault) { client, _ in
      try await client.request(method, "/f", keepAlive ? [] : ["Connection: close"])
      let head = await client.takeHead()
      let (rest, end) = await client.takeToEnd()
      result = (head, rest, end)
    }
    return try #require(result)
  }

  private var whole: [UInt8] { content.bytes(at: 0, count: 1000) }

  /// The data of a chunked body, its trailer lines, and whether it ended correctly.
  private func dechunk(_ bytes: [UInt8]) throws -> (data: [UInt8], trailers: [String], ends: Bool) {
    var rest = bytes[...]
    var data: [UInt8] = []
    func line() -> String? {
      guard let index = Array(rest).firstIndex(of: [13, 10]) else { return nil }
      defer { rest = rest.dropFirst(index + 2) }
      return String(decoding: rest.prefix(index), as: UTF8.self)
    }
    while let size = line() {
      let count = try #require(Int(size, radix: 16))
      if count == 0 {
        var trailers: [String] = []
        while let trailer = line(), !trailer.isEmpty { trailers.append(trailer) }
        return (data, trailers, rest.isEmpty)
      }
      data += rest.prefix(count)
      rest = rest.dropFirst(count + 2)
    }
    return (data, [], false)
  }

  @Test func `chunked without a length, with trailers`() async throws {
    let got = try await exchange(length: 200_000, .chunked(trailers: ["X-End: 1", "X-More: 2"]))
    #expect(got.head["Content-Length"] == nil)
    #expect(got.head["Transfer-Encoding"] == "chunked")
    let body = try dechunk(got.rest)
    #expect(body.ends)
    #expect(body.data == content.bytes(at: 0, count: 200_000))
    #expect(body.trailers == ["X-End: 1", "X-More: 2"])
  }

  @Test func `chunked and closed without the terminal chunk`() async throws {
    let got = try await exchange(keepAlive: true, .chunked(terminal: false))
    let body = try dechunk(got.rest)
    #expect(!body.ends)
    #expect(body.data == whole)
    #expect(got.end == .eof)
  }

  @Test func `chunked together with Content-Length`() async throws {
    let got = try await exchange(.chunked(), .addHeaders(fields: ["Content-Length: 5"]))
    #expect(got.head["Content-Length"] == "5")
    #expect(got.head["Transfer-Encoding"] == "chunked")
    #expect(try dechunk(got.rest).data == whole)
  }

  @Test func `HTTP/1.0, ended by the end of the connection`() async throws {
    let got = try await exchange(keepAlive: true, .closeDelimited())
    #expect(got.head.statusLine == "HTTP/1.0 200 OK")
    #expect(got.head["Content-Length"] == nil)
    #expect(got.rest == whole)
    #expect(got.end == .eof)
  }

  @Test func `Content-Length too large: the connection closes early`() async throws {
    let got = try await exchange(keepAlive: true, .declareLength(by: 100))
    #expect(got.head["Content-Length"] == "1100")
    #expect(got.rest == whole)
    #expect(got.end == .eof)
  }

  @Test func `Content-Length too small: more bytes follow`() async throws {
    let got = try await exchange(.declareLength(by: -100))
    #expect(got.head["Content-Length"] == "900")
    #expect(got.rest == whole)
  }

  @Test(arguments: [true, false])
  func `the body is longer than its range or length, declared or not`(declared: Bool) async throws {
    try await withResource(Fault(.lengthenBody(by: 50, declared: declared))) { client, _ in
      try await client.request("GET", "/f", ["Range: bytes=10-19", "Connection: close"])
      let head = await client.takeHead()
      #expect(head["Content-Range"] == "bytes 10-19/100000")
      #expect(head["Content-Length"] == (declared ? "60" : "10"))
      #expect(await client.takeToEnd().bytes == content.bytes(at: 10, count: 60))
    }
  }

  @Test(arguments: [
    ["{length}", "{length}"], ["1000", "999"], ["-5"], ["+5"], ["0x10"],
    ["9223372036854775808"], ["1e3"], [],
  ])
  func `Content-Length lines, unchanged`(values: [String]) async throws {
    let got = try await exchange(.contentLength(values: values))
    #expect(got.head.values("Content-Length") == values.map { $0 == "{length}" ? "1000" : $0 })
    #expect(got.rest == whole)
  }

  @Test(arguments: [true, false])
  func `endless, chunked or to the end of the connection`(chunked: Bool) async throws {
    try await withResource(length: 10, Fault(.endless(chunked: chunked))) { client, server in
      try await client.request("GET", "/f")
      let head = await client.takeHead()
      #expect(head["Content-Length"] == nil)
      #expect(await client.take(1_000_000).count == 1_000_000)
      await client.close()
      try await server.waitUntil { $0.requests.first?.outcome == .abandoned }
    }
  }

  @Test func `HEAD has another length, or is refused`() async throws {
    let other = try await exchange(method: "HEAD", .declareLength(by: 5))
    #expect(other.head["Content-Length"] == "1005")
    #expect(other.rest.isEmpty)
    for status in [403, 405, 501] {
      let refused = try await exchange(method: "HEAD", .status(status, body: "no"))
      #expect(refused.head.status == status)
      #expect(refused.rest.isEmpty)
    }
  }

  @Test func `raw bytes: one byte for a scalar up to U+00FF, UTF-8 for others`() async throws {
    try await withResource(Fault(.raw(text: "HTTQ/9 \u{9B}\u{FF}\u{202E}\n"))) { client, _ in
      try await client.request("GET", "/f")
      let all = await client.takeToEnd()
      #expect(all.bytes == Array("HTTQ/9 ".utf8) + [0x9B, 0xFF, 0xE2, 0x80, 0xAE, 0x0A])
      #expect(all.end == .eof)
    }
    try await withResource(Fault(.raw(text: "junk", then: .reset))) { client, _ in
      try await client.request("GET", "/f")
      let all = await client.takeToEnd()
      #expect(all.bytes == Array("junk".utf8))
      #expect(all.end == .reset)
    }
  }
}
