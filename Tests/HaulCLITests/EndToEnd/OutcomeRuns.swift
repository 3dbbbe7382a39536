import Foundation
import HaulCore
import HaulTesting
import Testing

/// Outcomes and their JSON.
@Suite(.serialized, .timeLimit(.minutes(10))) struct OutcomeRuns {
  @Test func `A download over eight connections reports its end once`() async throws {
    try await CommandFixture.with(CommandFixture.file(length: 8 << 20)) { fixture in
      let url = fixture.server.url("/file.bin")
      let result = try await fixture.haul(["get", "--json", url, "-x", "8", "--min-split", "256K"])
      #expect(result.status == 0)
      let end = try #require(try result.events().finished.first)
      #expect(end["state"]?.string == "completed")
      #expect(end["path"]?.string == "file.bin")
      #expect(end["bytes"] == .integer(8 << 20))
      #expect(end["reused"] == .integer(0))
      #expect(end["verified"]?.string == "length")
      #expect(end["error"] == .null)
      try fixture.expectWhole(length: 8 << 20)
    }
  }

  @Test
  func `Without a terminal, a plain line at the start and at the end names the file`() async throws
  {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let result = await (try await fixture.start()).end()
      #expect(result.output == "")
      #expect(result.errorLines.count == 2, "\(result.errors)")
      let url = fixture.server.url("/file.bin")
      let start = try #require(result.errorLines.first)
      #expect(start.hasPrefix("file.bin: started") && start.hasSuffix(", from \(url)"))
      #expect(result.errorLines.last?.hasPrefix("file.bin: complete, 3.0 MiB in ") == true)
      let again = await (try await fixture.start()).end()
      #expect(again.errorLines == ["file.bin: complete, 3.0 MiB already there"])
      let quiet = await (try await fixture.start("/file.bin", "-q", "-o", "q")).end()
      #expect(quiet.errors == "" && quiet.output == "")
    }
  }

  @Test func `-d creates the directory; the path of the file is reported with it`() async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let result = try await fixture.get("/file.bin", "-d", "new/deep")
      #expect(result.status == 0)
      let events = try result.events()
      #expect(events.first?["target"]?.string == "new/deep/file.bin")
      #expect(events.finished.first?["path"]?.string == "new/deep/file.bin")
      try fixture.expectWhole("new/deep/file.bin")
    }
  }

  @Test(
    arguments: [
      (404, .notFound), (401, .unauthorized), (403, .forbidden), (418, .httpStatus),
      (500, .httpStatus),
    ] as [(Int, TransferError.Code)])
  func `A refused answer ends with its code, its status and one line`(
    status: Int, code: TransferError.Code
  ) async throws {
    try await CommandFixture.with(CommandFixture.file("/file.bin", .always(.status(status)))) {
      fixture in
      let result = try await fixture.get("/file.bin", "--retries", "0")
      try result.expectFailed(code)
      let error = try #require(try result.events().finished.first?["error"])
      #expect(error["status"] == .integer(Int64(status)))
      #expect(try fixture.names() == [])
    }
  }

  @Test
  func `After several failures the message has their number, and at its end what to do`()
    async throws
  {
    try await CommandFixture.with(CommandFixture.file("/file.bin", .always(.status(503)))) {
      fixture in
      let result = await (try await fixture.start("/file.bin", "--retries", "2")).end()
      #expect(result.status == 1)
      let url = fixture.server.url("/file.bin")
      #expect(result.errorLines.count == 3)
      #expect(
        result.errorLines.last
          == "haul: \(url): the server answered 503 after 3 attempts; try again later")
    }
  }

  @Test(arguments: [503, 429])
  func `The message names a wait that the server asks for, if it is too long`(status: Int)
    async throws
  {
    let fault = Fault(.retryLater(status: status, seconds: 7200))
    try await CommandFixture.with(CommandFixture.file("/file.bin", fault)) { fixture in
      let result = await (try await fixture.start("/file.bin")).end()
      #expect(result.status == 1)
      #expect(
        result.errors.contains(
          ", and asks to wait 2 hours; that is longer than this transfer waits; try again "
            + "then, or let it wait longer (--retry-max-time)"),
        "\(result.errors)")
    }
  }

  @Test func `-v shows every request and answer, without secrets`() async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let result = await (try await fixture.start("/file.bin?key=canary", "-v")).end()
      #expect(result.status == 0)
      let log = result.errorLines.filter { $0.hasPrefix("haul: debug: ") }
      #expect(log.first?.contains("request for") == true)
      #expect(log.contains { $0.contains("answer 206 HTTP/1.1") })
      #expect(!result.errors.contains("canary"))
    }
  }

  @Test func `Redirects to a file, and redirect loops, are refused`() async throws {
    let wrong: [(String, TransferError.Code)] = [
      ("file:///etc/passwd", .redirectRefused), ("ftp://127.0.0.1/x", .redirectRefused),
      ("/file.bin", .tooManyRedirects),
    ]
    for (location, code) in wrong {
      let fault = Fault(.redirect(location: location))
      try await CommandFixture.with(CommandFixture.file("/file.bin", fault)) { fixture in
        // A loop is waited for, in case the file is not ready: long enough for a line of progress.
        let result = try await fixture.get("/file.bin", "--progress", "none")
        try result.expectFailed(code)
        #expect(try fixture.names() == [])
      }
    }
  }

  @Test
  func `A wrong digest fails, keeps the bytes, and the same command starts over`() async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let right = SeededContent.sha256Hex(seed: CommandFixture.seed, length: CommandFixture.length)
      let option = "sha-256=" + right
      fixture.server.update("/file.bin") { $0.seed = 8 }
      let wrong = try await fixture.get("/file.bin", "--checksum", option)
      try wrong.expectFailed(.checksumMismatch)
      #expect(try fixture.names() == ["file.bin.haul.journal", "file.bin.haul.part"])
      fixture.server.update("/file.bin") { $0.seed = CommandFixture.seed }
      let result = try await fixture.get("/file.bin", "--checksum", option)
      #expect(result.status == 0)
      let end = try #require(try result.events().finished.first)
      #expect(end["reused"] == .integer(0))
      #expect(end["verified"]?.string == "checksum")
      #expect(end["checksum"]?["sha-256"]?.string == right)
      try fixture.expectWhole()
    }
  }

  @Test
  func `A file that changed between two runs is downloaded again, and that is reported`()
    async throws
  {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      _ = try await fixture.interrupt()
      fixture.server.replaceContent("/file.bin", seed: 9)
      let result = try await fixture.get()
      #expect(result.status == 0)
      let restarts = try result.events().of("phase").filter {
        $0["phase"]?.string == "restarted"
      }
      #expect(restarts.count == 1)
      #expect(restarts.first?["reason"]?.string?.isEmpty == false)
      #expect(result.failures.count == 1 && result.errors.contains("starting over"))
      try fixture.expectWhole(seed: 9)
    }
  }

  @Test
  func `A lost connection is reported as an attempt, and the download resumes`() async throws {
    let fault = Fault(.reset(after: 1 << 20), when: .first(1))
    try await CommandFixture.with(CommandFixture.file("/file.bin", fault)) { fixture in
      let result = try await fixture.get()
      #expect(result.status == 0)
      let attempt = try #require(try result.events().of("attempt").first)
      #expect(attempt["attempt"] == .integer(1))
      #expect(attempt["error"]?["code"]?.string == "connection-lost")
      #expect(result.failures.count == 1 && result.errors.contains("; retrying "))
      try fixture.expectWhole()
    }
  }

  @Test
  func `The framing verifies a chunked body; nothing verifies a body without a length`()
    async throws
  {
    for (fault, verified) in [
      (Fault(.ignoreRange, .chunked()), "framing"),
      (Fault(.ignoreRange, .closeDelimited()), "unverified"),
    ] {
      try await CommandFixture.with(CommandFixture.file("/file.bin", fault)) { fixture in
        let result = try await fixture.get()
        #expect(result.status == 0)
        #expect(try result.events().finished.first?["verified"]?.string == verified)
        try fixture.expectWhole()
      }
    }
  }

  @Test
  func `--max-filesize refuses a longer file before its body, and stops an endless one`()
    async throws
  {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let known = try await fixture.get("/file.bin", "--max-filesize", "2M")
      try known.expectFailed(.tooLarge)
      #expect(try known.events().finished.first?["fetched"] == .integer(0))
      fixture.server.setFaults("/file.bin", [Fault(.endless(chunked: true))])
      try await fixture.get("/file.bin", "--max-filesize", "2M").expectFailed(.tooLarge)
      #expect(try !fixture.names().contains("file.bin"))
      fixture.server.setFaults("/file.bin", [])
      #expect(try await fixture.get("/file.bin", "--max-filesize", "3M").status == 0)
      try fixture.expectWhole()
    }
  }

  @Test func `A port without a listener is reported with its address`() async throws {
    let url = try await CommandFixture.with(CommandFixture.file()) { $0.server.url("/file.bin") }
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let result = try await fixture.haul(["get", "--json", "--retries", "0", url])
      try result.expectFailed(.connect)
      #expect(result.errors.contains("127.0.0.1"))
    }
  }

  @Test
  func `A certificate is checked, with --cacert too, unless --insecure is given`() async throws {
    try await CommandFixture.with(CommandFixture.file(), tls: .good) { fixture in
      try await fixture.get().expectFailed(.tls)
      try fixture.server.certificateAuthorityPEM.write(
        toFile: fixture.path("ca.pem"), atomically: true, encoding: .utf8)
      #expect(try await fixture.get("/file.bin", "--cacert", "ca.pem").status == 0)
      try fixture.expectWhole()
    }
    try await CommandFixture.with(CommandFixture.file(), tls: .selfSigned) { fixture in
      try await fixture.get().expectFailed(.tls)
      #expect(try fixture.names() == [])
      #expect(try await fixture.get("/file.bin", "--insecure").status == 0)
      try fixture.expectWhole()
    }
  }
}
