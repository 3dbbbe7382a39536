import Foundation
import HaulTesting
import Testing

/// Get --worker.
@Suite(.serialized, .timeLimit(.minutes(10))) struct WorkerRuns {
  @Test func `0 if all completed, 1 if some failed for good, 75 if another run may help`()
    async throws
  {
    try await CommandFixture.with(
      CommandFixture.file("/a.bin"), CommandFixture.file("/gone.bin", .always(.status(404))),
      CommandFixture.file("/busy.bin", .always(.status(503)))
    ) { fixture in
      func get(_ paths: String...) async throws -> CommandResult {
        try await fixture.haul(
          ["get", "--worker", "--retries", "0"] + paths.map { fixture.server.url($0) })
      }
      #expect(try await get("/a.bin").status == 0)
      let failed = try await get("/a.bin", "/gone.bin")
      #expect(failed.status == 1)
      #expect(failed.errors.contains("1 already there, 1 failed"), "\(failed.errors)")
      #expect(!failed.errors.contains("a.bin: "), "\(failed.errors)")
      #expect(try await get("/busy.bin").status == 75)
      #expect(try await get("/a.bin", "/gone.bin", "/busy.bin").status == 75)
      fixture.server.setFaults("/busy.bin", [])
      #expect(try await get("/a.bin", "/busy.bin").status == 0)
      let alone = ["get", "--retries", "0", fixture.server.url("/gone.bin")]
      #expect(try await fixture.haul(alone).status == 1)
    }
  }

  /// Runs `body` when the first of two files is held midway, and the other one waits for its slot.
  private func held(
    _ options: [String], _ body: (CommandRun, CommandFixture) async throws -> Void
  ) async throws {
    try await CommandFixture.with(
      CommandFixture.file("/file.bin", .always(.stall(after: 1 << 20))),
      CommandFixture.file("/next.bin")
    ) { fixture in
      let urls = ["/file.bin", "/next.bin"].map { fixture.server.url($0) }
      let run = try await CommandRun(
        ["get", "--json", "--worker", "-x", "1", "-j", "1"] + options + urls,
        in: fixture.directory)
      try await run.reach(bytes: 1 << 20)
      try await body(run, fixture)
    }
  }

  @Test func `SIGTERM lets what runs end, begins nothing else, and leaves the rest to another run`()
    async throws
  {
    try await held([]) { (run, fixture) async throws in
      run.send(SIGTERM)
      try await run.reach("it drains") { _, errors in errors.contains("no other transfer begins") }
      try await run.reach("the other one is paused") { output, _ in
        output.contains(#""paused""#)
      }
      fixture.server.setFaults("/file.bin", [])
      fixture.server.release()
      let result = await run.end()
      #expect(result.status == 75, "\(result.errors)")
      #expect(result.errors.contains("1 file is not complete"))
      try fixture.expectWhole()
      #expect(try fixture.names() == ["file.bin"])
      #expect(!fixture.server.snapshot.requests.contains { $0.path == "/next.bin" })
    }
  }

  @Test func `What does not end in time keeps its bytes, as without --worker`() async throws {
    try await held(["--drain", "0"]) { (run, fixture) async throws in
      run.send(SIGTERM)
      let result = await run.end()
      #expect(result.status == 75)
      #expect(try result.events().last?["paused"] == .integer(2))
      #expect(!result.errors.contains("no other transfer begins"))
      #expect(try fixture.names() == ["file.bin.haul.journal", "file.bin.haul.part"])
    }
    try await held(["--drain", "0.1"]) { (run, fixture) async throws in
      run.send(SIGTERM)
      let result = await run.end()
      #expect(result.status == 75)
      #expect(try result.events().last?["paused"] == .integer(2))
      #expect(try fixture.names() == ["file.bin.haul.journal", "file.bin.haul.part"])
      fixture.server.setFaults("/file.bin", [])
      try await fixture.expectGoesOn()
    }
  }

  @Test(arguments: [(["--worker"], 75), ([], 143)] as [([String], Int32)])
  func `SIGTERM leaves everything to another run also before anything begins`(
    options: [String], status: Int32
  ) async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let pipe = fixture.path("fields")
      try #require(mkfifo(pipe, 0o600) == 0)
      let run = try await CommandRun(
        ["get", "-H", "@fields", fixture.server.url("/file.bin")] + options, in: fixture.directory)
      // The pipe can be opened once haul opens it too, which waits for its end.
      let writer = await withCheckedContinuation { opened in
        Thread.detachNewThread { opened.resume(returning: open(pipe, O_WRONLY | O_CLOEXEC)) }
      }
      run.send(SIGTERM)
      #expect(await run.end().status == status)
      close(writer)
      #expect(fixture.server.snapshot.requests.isEmpty)
    }
  }

  @Test func `A second signal ends it at once; SIGINT does not drain`() async throws {
    try await held([]) { (run, fixture) async throws in
      run.send(SIGTERM)
      try await run.reach("it drains") { _, errors in errors.contains("no other transfer begins") }
      run.send(SIGINT)
      #expect(await run.end().status == 130)
      #expect(try fixture.names() == ["file.bin.haul.journal", "file.bin.haul.part"])
    }
    try await held([]) { (run, _) async throws in
      run.send(SIGINT)
      let result = await run.end()
      #expect(result.status == 130)
      #expect(try result.events().types.last == "summary")
    }
  }

  @Test func `A metrics file has the numbers of the daemon, whole at any time`() async throws {
    try await CommandFixture.with(
      CommandFixture.file("/file.bin", length: 1000),
      CommandFixture.file("/gone.bin", .always(.status(404)))
    ) { fixture in
      let urls = ["/file.bin", "/gone.bin"].map { fixture.server.url($0) }
      let result = try await fixture.haul(["get", "--metrics-file", "m.prom"] + urls)
      #expect(result.status == 1)
      let text = String(decoding: try fixture.contents("m.prom"), as: UTF8.self)
      for line in [
        "# TYPE haul_transfers gauge", #"haul_transfers{state="completed"} 1.0"#,
        #"haul_transfers{state="failed"} 1.0"#, #"haul_transfers{state="running"} 0.0"#,
        "# TYPE haul_received_bytes_total counter", "haul_received_bytes_total 1000",
        #"haul_ended_total{state="failed"} 1"#, #"haul_failed_total{code="not-found"} 1"#,
        "haul_rate_bytes_per_second 0.0", "# TYPE haul_run_seconds gauge",
      ] { #expect(text.contains(line + "\n"), "\(line) is not in \(text)") }
      #expect(try fixture.names() == ["file.bin", "m.prom"])
      let before = fixture.server.snapshot.requests.count
      let refused = try await fixture.haul(["get", "--metrics-file", "no/m.prom", urls[0]])
      #expect(refused.status == 1 && refused.errors.contains("the metrics file no/m.prom"))
      #expect(fixture.server.snapshot.requests.count == before)
    }
  }

  @Test func `A metrics file replaces nothing but an empty one or another metrics file`()
    async throws
  {
    try await CommandFixture.with(CommandFixture.file(length: 1000)) { fixture in
      let url = fixture.server.url("/file.bin")
      let list = Array("\(url)\n".utf8)
      try Data(list).write(to: URL(filePath: fixture.path("list")))
      try Data(list).write(to: URL(filePath: fixture.path("m.prom.tmp")))
      try FileManager.default.createSymbolicLink(
        atPath: fixture.path("link"), withDestinationPath: "target")
      #expect(mkfifo(fixture.path("fifo"), 0o600) == 0)
      for name in ["list", "link", "fifo", "."] {
        let result = try await fixture.haul(["get", "--metrics-file", name, url])
        #expect(result.status == 1 && result.errors.contains("the metrics file \(name)"))
      }
      for name in ["list", "./list", fixture.path("list")] {
        let result = try await fixture.haul(["get", "--metrics-file", name, "-i", "list"])
        #expect(result.status == 2 && result.errors.contains("a list"), "\(result.errors)")
      }
      let manifest = ["get", "--metrics-file", "m", "--manifest", "./m", url]
      #expect(try await fixture.haul(manifest).status == 2)
      #expect(fixture.server.snapshot.requests.isEmpty)

      try Data().write(to: URL(filePath: fixture.path("m.prom")))
      for _ in 0..<2 {
        #expect(try await fixture.haul(["get", "--metrics-file", "m.prom", url]).status == 0)
      }
      #expect(try fixture.contents("m.prom").starts(with: "# TYPE haul_".utf8))
      #expect(try fixture.contents("list") == list && fixture.contents("m.prom.tmp") == list)
      #expect(
        try fixture.names() == ["fifo", "file.bin", "link", "list", "m.prom", "m.prom.tmp"])
    }
  }
}
