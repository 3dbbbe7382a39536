import Foundation
import HaulCore
import HaulTesting
import Testing

/// Runs of `haul put`.
@Suite(.serialized, .timeLimit(.minutes(10))) struct PutRuns {
  private static let content = SeededContent(seed: 3).bytes(at: 0, count: 300_000)

  private func with(
    _ faults: Fault..., body: (CommandFixture) async throws -> Void
  ) async throws {
    let resources = ["/f.bin", "/g.bin"].map {
      FaultScript.Resource($0, length: 0, faults: faults)
    }
    try await CommandFixture.with(resources) { fixture in
      for name in ["f.bin", "g.bin"] {
        try Data(Self.content).write(to: URL(filePath: fixture.path(name)))
      }
      try await body(fixture)
    }
  }

  @Test
  func `several files arrive under their names; the events say that they are uploads`() async throws
  {
    try await with { fixture in
      let result = try await fixture.haul(
        ["put", "--json", "f.bin", "g.bin", fixture.server.url("/")])
      #expect(result.status == 0, "\(result.errors)")
      let requests = fixture.server.snapshot.requests.filter { $0.method == "PUT" }
      #expect(requests.map(\.path).sorted() == ["/f.bin", "/g.bin"])
      #expect(requests.allSatisfy { $0.body == Self.content })
      let events = try result.events()
      let added = events.filter { $0["type"]?.string == "added" }
      #expect(added.allSatisfy { $0["kind"]?.string == "upload" })
      #expect(events.finished.allSatisfy { $0["bytes"] == .integer(300_000) })
    }
  }

  @Test
  func `a refusal names the address, the status and what to do, and ends with status 1`()
    async throws
  {
    try await with(Fault(.upload(after: 1000, then: .answer), .status(403))) { fixture in
      let address = fixture.server.url("/f.bin")
      let result = try await fixture.haul(["put", "f.bin", address])
      #expect(result.status == 1)
      let reason = "the server answered 403; uploading there is forbidden"
      #expect(result.errors.contains("haul: \(address): \(reason)"))
    }
  }

  @Test
  func `an interrupted upload ends with 130, and the same command sends the whole file`()
    async throws
  {
    try await with(Fault(.stallBeforeHead, when: .first(1))) { fixture in
      let arguments = ["put", "f.bin", fixture.server.url("/f.bin")]
      let run = try await CommandRun(arguments, in: fixture.directory)
      try await fixture.server.waitForHeld("/f.bin")
      run.send(SIGINT)
      let result = await run.end()
      #expect(result.status == 130)
      #expect(result.errors.contains("run the same command again to send every file again"))
      #expect(try await fixture.haul(arguments).status == 0)
      let puts = fixture.server.snapshot.requests.filter { $0.method == "PUT" }
      #expect(puts.last?.body == Self.content)
    }
  }

  @Test func `with a manifest, the next run sends only what is not there, or has changed`()
    async throws
  {
    try await with { fixture in
      fixture.server.setFaults("/g.bin", [Fault(.status(403))])
      let put = ["put", "--worker", "--manifest", "m/done.jsonl", "f.bin", "g.bin"]
      let arguments = put + [fixture.server.url("/")]
      func sent(_ status: Int32) async throws -> [String] {
        let before = fixture.server.snapshot.requests.count
        let result = try await fixture.haul(arguments)
        #expect(result.status == status, "\(result.errors)")
        return fixture.server.snapshot.requests.dropFirst(before).filter { $0.method == "PUT" }
          .map(\.path).sorted()
      }
      #expect(try await sent(1) == ["/f.bin", "/g.bin"])
      fixture.server.setFaults("/g.bin", [])
      #expect(try await sent(0) == ["/g.bin"])
      #expect(try await sent(0) == [])
      let sum = try await fixture.haul(["manifest", "m"])
      #expect(sum.status == 0 && sum.output.hasPrefix("2 files: 2 complete (585.9 KiB)"))
      // The same length: its date tells it.
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 1_000_000_000)],
        ofItemAtPath: fixture.path("f.bin"))
      #expect(try await sent(0) == ["/f.bin"])
      let other = try await fixture.haul(arguments.dropLast() + [fixture.server.url("/new/")])
      #expect(!other.errors.contains("files are complete"))
      for wrong in [["--manifest", "m/", "f.bin"], ["--manifest", "m", "-"]] {
        #expect(
          try await fixture.haul(["put"] + wrong + [fixture.server.url("/f.bin")]).status == 2)
      }
    }
  }

  @Test func `an interrupted upload by tus says that the same command resumes it`() async throws {
    try await with(Fault(.stallBeforeHead)) { fixture in
      let address = fixture.server.url("/f.bin")
      let run = try await CommandRun(["put", "f.bin", "tus+\(address)"], in: fixture.directory)
      try await fixture.server.waitForHeld("/f.bin")
      run.send(SIGINT)
      let result = await run.end()
      #expect(result.status == 130)
      #expect(result.errors.contains("run the same command again to resume"))
    }
  }

  @Test
  func `by WebDAV, files arrive in a directory that is made, and nothing else is left there`()
    async throws
  {
    let collection = FaultScript.Resource("/dav/", length: 0).with { $0.service = .webDAV }
    try await CommandFixture.with([collection]) { fixture in
      for name in ["f.bin", "g.bin"] {
        try Data(Self.content).write(to: URL(filePath: fixture.path(name)))
      }
      let address = "dav+\(fixture.server.url("/dav/new/"))"
      let result = try await fixture.haul(["put", "--json", "f.bin", "g.bin", address])
      #expect(result.status == 0, "\(result.errors)")
      let files = fixture.server.files(below: "/dav/")
      #expect(files == ["/dav/new/f.bin": Self.content, "/dav/new/g.bin": Self.content])
      let again = try await fixture.haul(["put", "--if-exists", "fail", "f.bin", address])
      #expect(again.status == 1)
      #expect(again.errors.contains("the server has a file there already"))
    }
  }

  @Test func `a large file resumes where the server offers that, also after a kill`() async throws {
    let resource = FaultScript.Resource("/up/", length: 0).with {
      $0.service = .resumable
      // The server has the first part; its answer does not come.
      $0.faults = [Fault(.stallBeforeHead, when: .init(method: "PATCH", times: 1))]
    }
    try await CommandFixture.with([resource]) { fixture in
      let content = SeededContent(seed: 3).bytes(at: 0, count: 9 << 20)
      try Data(content).write(to: URL(filePath: fixture.path("f.bin")))
      let arguments = ["put", "--json", "f.bin", fixture.server.url("/up/")]
      let run = try await CommandRun(arguments, in: fixture.directory)
      try await fixture.server.waitForHeld("/up/")
      run.send(SIGKILL)
      _ = await run.end()
      let result = try await fixture.haul(arguments)
      #expect(result.status == 0, "\(result.errors)")
      #expect(fixture.server.files(below: "/up/") == ["/up/f.bin": content])
      let end = try #require(try result.events().finished.first)
      #expect(end["reused"]?.double.map { $0 >= 6 * 1_048_576 } == true, "\(end)")
    }
  }

  @Test func `a form is sent with its fields and files, once`() async throws {
    try await with { fixture in
      let result = try await fixture.haul(
        [
          "put", "--json", "--form", "a=@f.bin", "--field", "n=é", "--form", "b=@g.bin",
          fixture.server.url("/f.bin"),
        ])
      #expect(result.status == 0, "\(result.errors)")
      let request = try #require(fixture.server.snapshot.requests.first)
      #expect(request.method == "POST")
      #expect(request.header("Content-Length") == "\(request.bodyReceived)")
      let end = try #require(try result.events().finished.first)
      #expect(end["bytes"] == .integer(request.bodyReceived))
      let text = String(decoding: request.body.prefix(200), as: UTF8.self)
      #expect(text.contains("name=\"n\"\r\n\r\né\r\n--haul-"))
    }
  }

  @Test
  func `a directory goes with all that is in it; a link that is left out is no success`()
    async throws
  {
    let collection = FaultScript.Resource("/dav/", length: 0).with { $0.service = .webDAV }
    try await CommandFixture.with([collection]) { fixture in
      for directory in ["d/a b", "d/e"] {
        try FileManager.default.createDirectory(
          atPath: fixture.path(directory), withIntermediateDirectories: true)
      }
      for name in ["d/f", "d/a b/ü"] {
        try Data(Self.content).write(to: URL(filePath: fixture.path(name)))
      }
      let address = "dav+\(fixture.server.url("/dav/"))"
      let result = try await fixture.haul(["put", "--json", "d", address])
      #expect(result.status == 0, "\(result.errors)")
      #expect(try result.events().finished.count == 3)
      #expect(
        fixture.server.files(below: "/dav/") == [
          "/dav/d/f": Self.content, "/dav/d/a%20b/%C3%BC": Self.content,
        ])
      let made = fixture.server.snapshot.requests.filter { $0.method == "MKCOL" }.map(\.path)
      #expect(made.contains("/dav/d/e/"))
      try FileManager.default.createSymbolicLink(
        atPath: fixture.path("d/link"), withDestinationPath: "f")
      let incomplete = try await fixture.haul(["put", "-q", "-r", "d", "\(address)a/"])
      #expect(incomplete.status == 1)
      #expect(
        incomplete.errors.hasPrefix("haul: d/link: a symbolic link was left out; --links follow"),
        "\(incomplete.errors)")
      let asked = try await fixture.haul(["put", "--links", "skip", "d", "\(address)b/"])
      #expect(asked.status == 0 && asked.errors.contains("d/link"), "\(asked.errors)")
      let sent = fixture.server.files(below: "/dav/").keys.sorted()
      let names = ["a/d/a%20b/%C3%BC", "a/d/f", "b/d/a%20b/%C3%BC", "b/d/f"]
      #expect(sent == (names + ["d/a%20b/%C3%BC", "d/f"]).map { "/dav/\($0)" })
    }
  }

  @Test func `links are followed on request, also out of the directory, but not in a circle`()
    async throws
  {
    let collection = FaultScript.Resource("/dav/", length: 0).with { $0.service = .webDAV }
    try await CommandFixture.with([collection]) { fixture in
      for directory in ["d/e", "outside/empty"] {
        try FileManager.default.createDirectory(
          atPath: fixture.path(directory), withIntermediateDirectories: true)
      }
      for name in ["d/f", "outside/g"] {
        try Data(Self.content).write(to: URL(filePath: fixture.path(name)))
      }
      for (name, target) in [("d/one", "f"), ("d/all", "../outside")] {
        try FileManager.default.createSymbolicLink(
          atPath: fixture.path(name), withDestinationPath: target)
      }
      let address = "dav+\(fixture.server.url("/dav/"))"
      let result = try await fixture.haul(["put", "--links", "follow", "d", address])
      #expect(result.status == 0, "\(result.errors)")
      #expect(
        fixture.server.files(below: "/dav/") == [
          "/dav/d/f": Self.content, "/dav/d/one": Self.content, "/dav/d/all/g": Self.content,
        ])
      let made = fixture.server.snapshot.requests.filter { $0.method == "MKCOL" }.map(\.path)
      #expect(made.contains("/dav/d/all/empty/"))
      for (name, target) in [("d/e/up", ".."), ("d/none", "nothing")] {
        try FileManager.default.createSymbolicLink(
          atPath: fixture.path(name), withDestinationPath: target)
      }
      let lost = try await fixture.haul(["put", "--links", "follow", "d", address])
      #expect(lost.status == 1)
      #expect(lost.errors.contains("2 links cannot be followed, such as d/e/up; left out"))
    }
  }

  @Test
  func `a name with '?' is shown whole; one that is not UTF-8 is refused, and the reason is said`()
    async throws
  {
    let collection = FaultScript.Resource("/dav/", length: 0).with { $0.service = .webDAV }
    try await CommandFixture.with([collection]) { fixture in
      let put = "\"$haul\" put d/ dav+\(fixture.server.url("/dav/"))"
      let shown = try await script("mkdir d && printf x > 'd/q?x' && \(put)", in: fixture).end()
      #expect(shown.status == 0 && shown.errors.contains("q?x: complete"), "\(shown.errors)")
      #expect(fixture.server.files(below: "/dav/") == ["/dav/q%3Fx": Array("x".utf8)])
      let refused = try await script(
        "printf x > \"d/$(printf 'a\\377')\" && \(put)", in: fixture
      ).end()
      #expect(refused.status == 2)
      #expect(refused.errors.contains("its name is not UTF-8; rename it"), "\(refused.errors)")
    }
  }

  /// Runs a script of the shell, in which `$haul` is the program.
  private func script(_ text: String, in fixture: CommandFixture) async throws -> CommandRun {
    try await CommandRun(
      ["-c", text], in: fixture.directory, environment: ["haul": CommandRun.executable.path],
      program: "/bin/sh")
  }

  @Test
  func `standard input is sent as it comes, and the name in messages is that of the address`()
    async throws
  {
    try await with { fixture in
      let address = fixture.server.url("/f.bin")
      let text = "(cat f.bin; sleep 0; head -c 9000000 /dev/zero) | \"$haul\" put - \(address)"
      let result = try await script(text, in: fixture).end()
      #expect(result.status == 0, "\(result.errors)")
      #expect(result.errors.contains("f.bin: complete"))
      let put = try #require(
        fixture.server.snapshot.requests.last { $0.method == "PUT" })
      #expect(put.bodyReceived == 9_300_000)
      #expect(put.header("Transfer-Encoding") == "chunked")
      #expect(put.body.prefix(300_000) == Self.content[...])
    }
  }

  @Test
  func `an open descriptor is sent by the path that a shell writes for it, and no other is`()
    async throws
  {
    try await with { fixture in
      let address = fixture.server.url("/f.bin")
      let put = "\"$haul\" put --method put"
      let sent = try await script("\(put) /dev/fd/7 \(address) 7<f.bin", in: fixture).end()
      #expect(sent.status == 0, "\(sent.errors)")
      let puts = fixture.server.snapshot.requests.filter { $0.method == "PUT" }
      #expect(puts.map(\.body) == [Self.content])
      let written = "\(put) /dev/fd/7 \(address) 7>/dev/null"
      #expect(try await script(written, in: fixture).end().status == 2)
      // Later, most of these are open in haul itself.
      let closed = (3...9).map { "exec \($0)<&-" }.joined(separator: "; ")
      let attempts = "for n in 3 4 5 6 7 8 9; do \(put) /dev/fd/$n \(address) && exit 9; done"
      let refused = try await script("\(closed); \(attempts)", in: fixture).end()
      #expect(refused.status == 2, "\(refused.errors)")
      for number in 3...9 {
        let reason = "/dev/fd/\(number): that descriptor is not open for reading"
        #expect(refused.errors.contains(reason), "\(refused.errors)")
      }
    }
  }

  @Test
  func `an interrupt while standard input is silent sends nothing, and says what is lost`()
    async throws
  {
    try await with { fixture in
      let address = fixture.server.url("/f.bin")
      let run = try await script(
        """
        mkfifo p
        (cat f.bin; touch fed; exec sleep 60) >p 2>/dev/null &
        exec "$haul" put - \(address) <p
        """, in: fixture)
      try await until { FileManager.default.fileExists(atPath: fixture.path("fed")) }
      run.send(SIGINT)
      let result = await run.end()
      #expect(result.status == 130)
      #expect(result.errors.contains("what was read of it is gone"))
      #expect(fixture.server.snapshot.requests.isEmpty)
    }
  }

  @Test func `standard input that is closed, or a directory, is an error`() async throws {
    try await with { fixture in
      for source in ["<&-", "<."] {
        let text = "exec \"$haul\" put - \(fixture.server.url("/f.bin")) \(source)"
        let result = try await script(text, in: fixture).end()
        #expect(result.status == 1)
        #expect(result.errors.contains("standard input cannot be read"), "\(result.errors)")
      }
      #expect(fixture.server.snapshot.requests.isEmpty)
    }
  }

  @Test func `a password of the address is sent and never shown`() async throws {
    try await with(Fault(.status(403))) { fixture in
      let address = fixture.server.url("/f.bin").replacing("://", with: "://user:hunter2@")
      let result = try await fixture.haul(["put", "--json", "-v", "f.bin", address])
      #expect(result.status == 1)
      let authorization = fixture.server.snapshot.requests.first?.header("Authorization")
      #expect(authorization?.hasPrefix("Basic ") == true)
      #expect(!result.errors.contains("hunter2"))
      #expect(!result.output.contains("hunter2"))
      let log = result.errorLines.filter { $0.hasPrefix("haul: debug: ") }
      #expect(log.contains { $0.contains("answer 403 HTTP/1.1 to PUT for ") }, "\(log)")
    }
  }
}
