import HaulCore
import HaulKit
import HaulTesting
import Testing

/// What the normalizer repairs (decision 024), over Haul's plain client and over the TLS client.
@Suite(.timeLimit(.minutes(10))) struct CarelessServerTests {
  static let gets = "HTTP/1.1 200 OK\r\n"

  private func finish(
    _ raw: String, tls: FaultServerTLS = .none, target: String? = nil,
    _ change: (inout DownloadRequest) -> Void = { _ in },
    _ check: (DownloadFixture, TransferResult) throws -> Void
  ) async throws {
    let faulty = FaultScript.Resource.plain("f").with { $0.faults = [Fault(.raw(text: raw))] }
    let others = target.map { [FaultScript.Resource.plain($0)] } ?? []
    try await DownloadFixture.with([faulty] + others, tls: tls) { fixture in
      let request = try fixture.request("/f") {
        $0.retry.retries = 0
        $0.connections = 1
        $0.allowInsecure = true
        change(&$0)
      }
      try check(fixture, try await fixture.finish(request).result)
    }
  }

  @Test(
    arguments: [
      gets + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
      gets + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
      gets + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n5  \nhello\n0\n\n",
      gets + "Transfer-Encoding: identity\r\nContent-Length: 5\t\r\n\r\nhello",
      gets + "X: one\r\n two\r\nContent-Length: 5\r\n\r\nhello",
      gets + "Content-Length: 5 bytes;\r\n\r\nhello",
      "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
      gets + String(repeating: "X: y\r\n", count: 300) + "Content-Length: 5\r\n\r\nhello",
    ], [FaultServerTLS.none, .good])
  func `The one meaning of an answer is taken, over http and https`(
    raw: String, tls: FaultServerTLS
  ) async throws {
    try await finish(raw, tls: tls) { fixture, result in
      #expect(result.error == nil)
      let contents = try fixture.contents("f")
      #expect(contents == Array("hello".utf8))
    }
  }

  @Test(arguments: [404, 503, 200], [FaultServerTLS.none, .good])
  func `A refusal counts although its chunks cannot be read; a file's chunks must be readable`(
    status: Int, tls: FaultServerTLS
  ) async throws {
    let raw = "HTTP/1.1 \(status) X\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n"
    try await finish(raw, tls: tls) { fixture, result in
      #expect(result.error?.status == (status == 200 ? nil : status))
      if status == 200 { #expect(result.error?.code == .protocolViolation) }
      let names = try fixture.names()
      #expect(names.isEmpty)
    }
  }

  @Test(arguments: [
    (gets + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "two different lengths"),
    ("ICY 200 OK\r\n\r\nhello", "not HTTP"),
    (gets + "X: a\0b\r\nContent-Length: 5\r\n\r\nhello", "forbidden character"),
    (gets + "Transfer-Encoding: gzip, chunked\r\nContent-Length: 5\r\n\r\n", "transfer coding"),
    (gets + String(repeating: "X: y\r\n", count: 6000) + "\r\n", "5000 fields"),
  ])
  func `What has two meanings is refused in plain words`(raw: String, words: String) async throws {
    try await finish(raw) { fixture, result in
      let error = try #require(result.error)
      #expect(error.code == .protocolViolation)
      #expect(error.message.contains(words), "\(error.message)")
      let names = try fixture.names()
      #expect(names.isEmpty)
    }
  }

  @Test
  func `Names in two encodings that are not UTF-8 are two names, and no byte of them is lost`()
    async throws
  {
    for (name, wanted) in [
      ("gr\u{FC}n.pdf", "gr\u{FC}n.pdf"), ("\u{BB}\u{AA}\u{CC}\u{A9}.pdf", "»ªÌ©.pdf"),
      ("\u{83}f\u{81}\u{5B}.txt", "%83f%81[.txt"), ("\u{83}f\u{81}\u{5D}.txt", "%83f%81].txt"),
    ] {
      let raw = Self.gets + "Content-Disposition: attachment; filename=\"\(name)\"\r\n"
      try await finish(raw + "Content-Length: 1\r\n\r\nx", { $0.usesSuggestedName = true }) {
        fixture, _ in
        let names = try fixture.names()
        #expect(names == [wanted])
      }
    }
  }

  @Test func `A redirect is followed by the bytes that the server wrote`() async throws {
    let raw = "HTTP/1.1 302 Found\r\nLocation: /caf\u{E9}/t \r\nContent-Length: 0\r\n\r\n"
    try await finish(raw, target: "caf%E9/t") { fixture, result in
      #expect(result.error == nil)
      #expect(Set(fixture.server.snapshot.requests.map(\.target)) == ["/f", "/caf%E9/t"])
    }
  }

  // The server of the tests reads UTF-8: for it, one byte of another encoding is one U+FFFD.

  @Test(arguments: [FaultServerTLS.none, .good])
  func `A cookie goes back with the bytes that the server wrote`(tls: FaultServerTLS) async throws {
    let head = "HTTP/1.1 302 Found\r\nLocation: /t\r\nContent-Length: 0\r\n"
    let raw = head + "Set-Cookie: a=caf\u{E9}\r\nSet-Cookie: b=\u{C3}\u{A9}\r\n\r\n"
    try await finish(raw, tls: tls, target: "t") { fixture, result in
      #expect(result.error == nil)
      let last = fixture.server.snapshot.requests.last
      #expect(last?.target == "/t" && last?.header("Cookie") == "a=caf\u{FFFD}; b=\u{E9}")
    }
  }

  @Test(arguments: [FaultServerTLS.none, .good])
  func `A login is answered with the bytes that the server wrote`(tls: FaultServerTLS) async throws
  {
    let challenge = "Digest realm=\"caf\u{E9}\", nonce=\"\u{FF}\", opaque=\"\u{80}x\""
    let raw = "HTTP/1.1 401 No\r\nWWW-Authenticate: \(challenge)\r\nContent-Length: 0\r\n\r\n"
    let refuses = Fault(.raw(text: raw), when: .init(withoutText: "Digest username"))
    let file = FaultScript.Resource("/f", seed: 3, length: 10, faults: [refuses])
    try await DownloadFixture.with([file], tls: tls) { fixture in
      let request = try fixture.request("/f") {
        $0.url = try ResourceURL(fixture.server.url("/f").replacing("://", with: "://me:pw@"))
        $0.allowInsecure = true
      }
      let outcome = try await fixture.finish(request)
      try fixture.expectWhole("f", seed: 3, length: 10, outcome)
      let field = fixture.server.snapshot.requests.last?.header("Authorization") ?? ""
      for part in ["realm=\"caf\u{FFFD}\"", "nonce=\"\u{FFFD}\"", "opaque=\"\u{FFFD}x\""] {
        #expect(field.contains(part), "\(field)")
      }
    }
  }

  @Test(arguments: [FaultServerTLS.none, .good])
  func `A broken download resumes with the bytes of its entity tag`(tls: FaultServerTLS)
    async throws
  {
    let part = "HTTP/1.1 206 Part\r\nContent-Range: bytes "
    let head = "ETag: \"caf\u{E9}\"\r\nContent-Length: "
    let first = Fault(
      .raw(text: part + "0-9/10\r\n" + head + "10\r\n\r\nhello"), when: .request(1))
    let rest = Fault(
      .raw(text: part + "5-9/10\r\n" + head + "5\r\n\r\nworld"), when: .request(2))
    let file = FaultScript.Resource("/f", seed: 3, length: 10, faults: [first, rest])
    try await DownloadFixture.with([file], tls: tls) { fixture in
      let request = try fixture.request("/f") {
        ($0.connections, $0.allowInsecure) = (1, true)
      }
      let outcome = try await fixture.finish(request)
      #expect(outcome.result.error == nil)
      let contents = try fixture.contents("f")
      #expect(contents == Array("helloworld".utf8))
      let second = fixture.server.snapshot.requests.last
      #expect(second?.range == "bytes=5-9" || second?.range == "bytes=5-")
      #expect(second?.ifRange == "\"caf\u{FFFD}\"")
    }
  }
}
