import HaulTesting
import Testing

/// Head faults.
@Suite(.timeLimit(.minutes(10)))
struct HeadFaultTests {
  private func head(_ actions: Fault.Action...) async throws -> WireHead {
    var fault = Fault()
    fault.actions = actions
    var result: WireHead?
    try await withResource(length: 1000, fault) { client, _ in
      try await client.request("GET", "/f", ["Connection: close"])
      result = await client.takeHead()
      _ = await client.takeToEnd()
    }
    return try #require(result)
  }

  @Test(arguments: [201, 202, 205, 400, 401, 403, 404, 407, 410, 429, 500, 503])
  func `any status, with its fields and body, and without the content`(status: Int) async throws {
    let action = Fault.Action.status(status, headers: ["X-A: {port}"], body: "sorry")
    try await withResource(Fault(action, when: .first(1))) { client, server in
      let response = try await client.get("/f")
      #expect(response.status == status)
      #expect(response.head["X-A"] == "\(server.port)")
      #expect(response.head["ETag"] == nil)
      #expect(response.body == Array("sorry".utf8))
      try await client.expect(200, "/f")
    }
  }

  @Test(arguments: [204, 304])
  func `204 and 304 have no body and no length`(status: Int) async throws {
    try await withResource(Fault(.status(status), when: .first(1))) { client, _ in
      try await client.request("GET", "/f")
      let head = await client.takeHead()
      #expect(head.status == status)
      #expect(head["Content-Length"] == nil)
      try await client.expect(200, "/f")
    }
  }

  @Test func `redirects with and without Location`() async throws {
    let redirect = try await head(.redirect(status: 308, location: "http://127.0.0.1:1/x"))
    #expect(redirect.status == 308)
    #expect(redirect["Location"] == "http://127.0.0.1:1/x")
    let lost = try await head(.redirect(location: nil))
    #expect(lost.status == 302)
    #expect(lost["Location"] == nil)
  }

  @Test func `Retry-After in seconds, or as a date after Date`() async throws {
    let seconds = try await head(.retryLater(status: 429, seconds: 7))
    #expect(seconds.status == 429)
    #expect(seconds["Retry-After"] == "7")
    let date = try await head(.retryLater(seconds: 0, asDate: true))
    #expect(date.status == 503)
    #expect(date["Retry-After"] == date["Date"])
  }

  @Test func `fields are set, added and removed`() async throws {
    let head = try await head(
      .setHeaders(fields: ["content-type: text/html"]),
      .addHeaders(fields: ["Content-Encoding: gzip", "Content-Encoding: br"]),
      .removeHeaders(names: ["accept-ranges", "date"]))
    #expect(head.values("Content-Type") == ["text/html"])
    #expect(head.values("Content-Encoding") == ["gzip", "br"])
    #expect(head["Accept-Ranges"] == nil)
    #expect(head["Date"] == nil)
  }

  @Test func `a line of 200 KiB and 10,000 fields`() async throws {
    let head = try await head(.headerBomb(lineBytes: 200 * 1024, fields: 10_000))
    #expect(head["X-Long"]?.utf8.count == 200 * 1024)
    #expect(head.lines.count > 10_000)
    #expect(head["X-9999"] == "b")
  }

  @Test func `interim responses before the head`() async throws {
    let action = Fault.Action.informational(count: 3, headers: ["Link: </s>"], milliseconds: 1)
    try await withResource(Fault(action)) { client, _ in
      try await client.request("GET", "/f")
      for _ in 0..<3 {
        let interim = await client.takeHead()
        #expect(interim.lines == ["HTTP/1.1 103 Interim", "Link: </s>"])
      }
      #expect(content.matches(await client.takeResponse().body))
    }
  }

  @Test func `endless interim responses`() async throws {
    try await withResource(Fault(.informational(status: 100))) { client, server in
      try await client.request("GET", "/f")
      for _ in 0..<500 { #expect(await client.takeHead().status == 100) }
      await client.close()
      try await server.waitUntil { $0.requests.first?.outcome == .abandoned }
      #expect(server.snapshot.bytesSent("/f") == 0)
    }
  }

  @Test func `hostile bytes in the reason, a field and a file name`() async throws {
    let hostile =
      Array("\u{1B}]0;owned\u{7}\u{1B}[31m".utf8) + [0x9B] + Array("31m\u{9B}\u{202E}\u{7F}".utf8)
    let reason = try await head(.hostileText(place: .reason)).bytes
    #expect(reason.starts(with: Array("HTTP/1.1 200 OK ".utf8) + hostile + [13, 10]))
    let field = try await head(.hostileText(place: .header)).bytes
    #expect(field.firstIndex(of: Array("\r\nX-Hostile: ".utf8) + hostile + [13, 10]) != nil)
    let name = try await head(.hostileText(place: .disposition)).bytes
    #expect(name.firstIndex(of: Array("filename=\"".utf8) + hostile) != nil)
    let fold = try await head(.hostileText(place: .fold)).text
    #expect(fold.contains("\r\nX-Folded: first\r\n second\r\n\tthird\r\n"))
  }

  @Test func `digests of the whole, of the part, and wrong ones`() async throws {
    let whole = SeededContent.sha256(seed: 42, length: 100_000)
    let part = content.sha256(of: 5..<10)
    try await withResource(
      Fault(.digest(), .digest(field: .content), .digest(field: .legacy))
    ) { client, server in
      let head = try await client.get("/f", "Range: bytes=5-9").head
      #expect(head["Repr-Digest"] == "sha-256=:\(base64(whole)):")
      #expect(head["Content-Digest"] == "sha-256=:\(base64(part)):")
      #expect(head["Digest"] == "SHA-256=\(base64(whole))")
      server.setFaults("/f", [Fault(.digest(wrong: true))])
      let wrong = try await client.get("/f").head["Repr-Digest"]
      #expect(wrong?.count == head["Repr-Digest"]?.count)
      #expect(wrong != head["Repr-Digest"])
    }
  }

  private func base64(_ bytes: [UInt8]) -> String {
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    let text = stride(from: 0, to: bytes.count, by: 3).flatMap { start in
      let triple = (0..<3).map { start + $0 < bytes.count ? UInt32(bytes[start + $0]) : 0 }
      let word = triple[0] << 16 | triple[1] << 8 | triple[2]
      return (0..<4).map { index -> Character in
        start + index <= bytes.count ? digits[Int(word >> (18 - 6 * UInt32(index)) & 63)] : "="
      }
    }
    return String(text)
  }
}
