import Foundation
import HaulTesting
import Testing

/// Exit status.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ExitStatusRuns {
  @Test
  func `0 when all completed; 1 when one failed, after the others have finished`() async throws {
    try await CommandFixture.with(
      CommandFixture.file("/a.bin"), CommandFixture.file("/b.bin"),
      CommandFixture.file("/c.bin", .always(.status(404)))
    ) { fixture in
      let urls = ["/a.bin", "/c.bin", "/b.bin"].map { fixture.server.url($0) }
      let failed = try await fixture.haul(["get", "--json"] + urls)
      #expect(failed.status == 1)
      let events = try failed.events()
      #expect(events.codes == ["not-found"])
      let summary = try #require(events.last)
      #expect(summary["completed"] == .integer(2))
      #expect(summary["failed"] == .integer(1))
      #expect(failed.failures.count == 1)
      try fixture.expectWhole("a.bin")
      try fixture.expectWhole("b.bin")
      #expect(try fixture.names() == ["a.bin", "b.bin"])
      fixture.server.setFaults("/c.bin", [])
      let completed = try await fixture.haul(["get", "--json"] + urls)
      #expect(completed.status == 0)
      #expect(try completed.events().finished.count == 3)
      try fixture.expectWhole("c.bin")
    }
  }

  @Test(arguments: [
    [], ["--no-such"], ["-o", "-"], ["--cacert", "/no/such/file"], ["-x", "0"],
    ["--checksum", "sha-256=12"], ["--mirror", "http://h"],
  ])
  func `2 for wrong usage: nothing is started or written`(options: [String]) async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let urls = options.isEmpty ? [] : [fixture.server.url("/file.bin")]
      let result = try await fixture.haul(["get", "--json"] + urls + options)
      #expect(result.status == 2)
      #expect(result.output == "")
      #expect(result.failures.count == 1, "\(result.errors)")
      #expect(fixture.server.snapshot.requests.isEmpty)
      #expect(try fixture.names() == [])
    }
  }

  @Test(
    arguments: [
      (SIGINT, 130, "interrupted"), (SIGTERM, 143, "terminated"),
      (SIGHUP, 129, "hung up (SIGHUP)"),
    ]
      as [(Int32, Int32, String)])
  func `130, 143 and 129: bytes are kept, a line says how to resume, and the same command resumes`(
    signal: Int32, status: Int32, word: String
  ) async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let result = try await fixture.interrupt(with: signal)
      #expect(result.status == status)
      #expect(try result.events().types.suffix(2) == ["paused", "summary"])
      let paused = try #require(try result.events().of("paused").first)
      #expect(paused["by"]?.string == "signal")
      #expect(try result.events().last?["paused"] == .integer(1))
      #expect(result.failures.count == 1)
      let line = try #require(result.failures.first)
      #expect(line.contains(word) && line.contains("run the same command again"))
      #expect(try fixture.names() == ["file.bin.haul.journal", "file.bin.haul.part"])
      try await fixture.expectGoesOn()
      #expect(try fixture.names() == ["file.bin"])
    }
  }

  @Test(arguments: [.stallBeforeHead, .retryLater(seconds: 600)] as [Fault.Action])
  func `An interrupt also ends a wait for an answer, for another attempt or for a slot`(
    fault: Fault.Action
  ) async throws {
    try await CommandFixture.with(
      CommandFixture.file("/file.bin", .always(fault)), CommandFixture.file("/next.bin")
    ) { fixture in
      let urls = ["/file.bin", "/next.bin"].map { fixture.server.url($0) }
      let run = try await CommandRun(
        ["get", "--json", "-j", "1", "--max-per-host", "1"] + urls, in: fixture.directory)
      try await run.reach("both were added") { output, _ in
        output.split(separator: "\n").filter { $0.contains(#""added""#) }.count == 2
      }
      try await fixture.server.waitForRequests(1, path: "/file.bin")
      run.send(SIGINT)
      let result = await run.end()
      #expect(result.status == 130)
      #expect(try result.events().of("paused").count == 2)
      #expect(try result.events().last?["paused"] == .integer(2))
      #expect(result.errors.contains("2 files are not complete"))
      #expect(try fixture.names() == [])
    }
  }

  @Test func `131: SIGQUIT ends it at once, without a message`() async throws {
    try await CommandFixture.with(CommandFixture.file("/file.bin", .always(.stall(after: 1 << 20))))
    {
      fixture in
      let run = try await fixture.start("/file.bin", "--json")
      try await fixture.server.waitForHeld("/file.bin")
      run.send(SIGQUIT)
      let result = await run.end()
      #expect(result.status == 131)
      #expect(!result.errors.contains("rash"), "\(result.errors)")
    }
  }

  @Test func `A signal that is ignored at the start stays ignored, as with nohup`() async throws {
    try await CommandFixture.with(CommandFixture.file("/file.bin", .always(.stall(after: 1 << 20))))
    {
      fixture in
      let run = try await CommandRun(
        [CommandRun.executable.path, "get", fixture.server.url("/file.bin")], in: fixture.directory,
        program: "/usr/bin/nohup")
      try await fixture.server.waitForHeld("/file.bin")
      run.send(SIGHUP)
      fixture.server.setFaults("/file.bin", [])
      fixture.server.release()
      #expect(await run.end().status == 0)
      try fixture.expectWhole()
    }
  }

  /// Runs `body` with a download that is held midway, and whose JSON lines are not read.
  private func unread(_ body: (CommandRun, CommandFixture) async throws -> Void) async throws {
    try await CommandFixture.with(CommandFixture.file("/file.bin", .always(.stall(after: 1 << 20))))
    {
      fixture in
      let full = Pipe()
      try full.fillUp()
      let run = try await fixture.start(
        "/file.bin", "--json", standardOutput: full.fileHandleForWriting)
      try await fixture.server.waitForHeld("/file.bin")
      try await body(run, fixture)
    }
  }

  @Test func `SIGTERM ends it even if its output is not read`() async throws {
    try await unread { run, _ in
      run.send(SIGTERM)
      #expect(await run.end().status == 143)
    }
  }

  @Test func `A second signal ends it at once, even if its output is not read`() async throws {
    try await unread { run, fixture in
      // The server has sent bytes; haul has read some.
      try await until { try fixture.names().count == 2 }
      run.send(SIGINT)
      // It closes the connection and then waits for its output for ever.
      try await fixture.server.waitUntil { $0.inProgress("/file.bin") == 0 }
      run.send(SIGTERM)
      #expect(await run.end().status == 143)
      #expect(try fixture.names() == ["file.bin.haul.journal", "file.bin.haul.part"])
    }
  }

  @Test
  func `141 when the reader of standard output has closed it; the bytes are kept`() async throws {
    try await CommandFixture.with(CommandFixture.file("/file.bin", .always(.stall(after: 1 << 20))))
    {
      fixture in
      let pipe = Pipe()
      let run = try await fixture.start(
        "/file.bin", "--json", standardOutput: pipe.fileHandleForWriting)
      try pipe.fileHandleForWriting.close()
      try await fixture.server.waitForHeld("/file.bin")
      try pipe.fileHandleForReading.close()
      #expect(await run.end().status == 141)
      #expect(try fixture.names() == ["file.bin.haul.journal", "file.bin.haul.part"])
    }
  }

  @Test func `141 for help that is not read; 0 for help that is read`() async throws {
    let directory = FileManager.default.temporaryDirectory.path
    let read = await (try await CommandRun(["get", "--help"], in: directory)).end()
    #expect(read.status == 0)
    #expect(read.output.contains("--limit-rate"))
    #expect(read.errors == "")
    let pipe = Pipe()
    try pipe.fileHandleForReading.close()
    let unread = try await CommandRun(
      ["get", "--help"], in: directory, standardOutput: pipe.fileHandleForWriting)
    #expect(await unread.end().status == 141)
  }

  @Test
  func `verify: 0 for the right digest, 1 for a wrong one or no file, 2 without a digest`()
    async throws
  {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      _ = try await fixture.get()
      let right = SeededContent.sha256Hex(seed: CommandFixture.seed, length: CommandFixture.length)
      let verify = { (name: String, hex: String) in
        try await fixture.haul(["verify", name, "--checksum", "sha-256=\(hex)"])
      }
      let good = try await verify("file.bin", right)
      #expect(good.status == 0)
      #expect(good.output == "" && good.failures == [])
      for (name, hex, word) in [
        ("file.bin", String(right.reversed()), "does not match"),
        ("none.bin", right, "no such file"),
        (".", right, "directory"),
      ] {
        let result = try await verify(name, hex)
        #expect(result.status == 1)
        #expect(result.output == "")
        #expect(result.errorLines.count == 1)
        #expect(result.errors.hasPrefix("haul: \(name): ") && result.errors.contains(word))
      }
      #expect(try await fixture.haul(["verify", "file.bin"]).status == 2)
    }
  }
}

extension Fault {
  /// A fault for every request.
  static func always(_ action: Action) -> Fault { Fault(action) }
}

extension Pipe {
  /// Writes until the pipe is full.
  fileprivate func fillUp() throws {
    let descriptor = fileHandleForWriting.fileDescriptor
    let flags = fcntl(descriptor, F_GETFL)
    try #require(fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0)
    let piece = [UInt8](repeating: 0x20, count: 4096)
    while write(descriptor, piece, piece.count) > 0 {}
    while write(descriptor, piece, 1) > 0 {}
    try #require(errno == EAGAIN && fcntl(descriptor, F_SETFL, flags) == 0)
  }
}
