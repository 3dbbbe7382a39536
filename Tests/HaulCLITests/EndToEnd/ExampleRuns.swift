import Foundation
import HaulTesting
import Testing

/// Runs the programs of Examples.
@Suite(.timeLimit(.minutes(10)))
struct ExampleRuns {
  func program(_ name: String) -> String {
    CommandRun.products.appending(path: name).path
  }

  private func run(_ name: String, _ arguments: [String], in fixture: CommandFixture) async throws
    -> CommandResult
  {
    try await CommandRun(arguments, in: fixture.directory, program: program(name)).end()
  }

  @Test
  func `MultiFileTransfer: percent and end of each file, the end of all, and the empty queue`()
    async throws
  {
    // Slow enough to show some percentages.
    let slow = CommandFixture.file("/a").with { $0.rate = 1 << 20 }
    // Without a date, nothing shows that the file already exists.
    let tagged = CommandFixture.file("/b").with { $0.lastModified = nil }
    try await CommandFixture.with(slow, tagged, CommandFixture.file("/c")) { fixture in
      fixture.server.setFaults("/c", [Fault(.status(404))])
      let urls = ["/a", "/b", "/c"].map { fixture.server.url($0) }
      let result = try await run("MultiFileTransfer", ["files"] + urls, in: fixture)
      #expect(result.status == 0, "\(result.errors)")
      let lines = result.output.split(separator: "\n").map(String.init)
      #expect(lines.contains("\(urls[0]): completed"))
      #expect(lines.contains { $0.hasPrefix("\(urls[2]): ") && $0.contains("404") })
      #expect(lines.count { $0 == "all have ended: 2 of 3 completed" } == 1)
      #expect(lines.contains { $0.hasPrefix("the queue is empty: ") })
      let percents = urls.map { Self.percents(of: $0, in: lines) }
      let rising = percents[0].prefix { $0 < 100 }
      #expect(rising.contains { $0 > 0 }, "\(lines)")
      #expect(zip(rising, rising.dropFirst()).allSatisfy { $0 <= $1 }, "\(lines)")
      #expect(percents[0].contains(100) && percents[1].contains(100), "\(lines)")
      #expect(percents[2] == [], "\(lines)")
      for name in ["a", "b"] {
        let bytes = try Data(contentsOf: URL(filePath: "\(fixture.directory)/files/\(name)"))
        #expect(bytes.count == CommandFixture.length)
      }
      // The second run downloads nothing.
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: fixture.path("files")).sorted()
          == ["a", "b"])
      for path in ["/a", "/b"] {
        let sent = fixture.server.snapshot.requests.filter { $0.path == path }.map(\.bodyBytesSent)
        #expect(sent.reduce(0, +) < CommandFixture.length * 3 / 2)
      }
    }
  }

  /// The numbers in lines such as `ADDRESS: 40 %`.
  private static func percents(of url: String, in lines: [String]) -> [Int] {
    lines.compactMap { line in
      guard line.hasPrefix("\(url): "), line.hasSuffix(" %") else { return nil }
      return Int(line.dropFirst(url.count + 2).dropLast(2))
    }
  }

  @Test
  func `LargeFile: the length first, then percent up to 100, and the whole file`() async throws {
    try await CommandFixture.with(CommandFixture.file("/a")) { fixture in
      let result = try await run("LargeFile", [fixture.server.url("/a"), "large"], in: fixture)
      #expect(result.status == 0, "\(result.errors)")
      let lines = result.output.split(separator: "\n").map(String.init)
      #expect(lines.first == "\(CommandFixture.length) bytes resumes: true")
      #expect(lines.contains { $0.hasPrefix("100 % ") }, "\(lines)")
      #expect(
        lines.last == "\(CommandFixture.length) bytes in large, 0 of them from an earlier run")
      let bytes = try Data(contentsOf: URL(filePath: fixture.path("large")))
      #expect(
        bytes == Data(SeededContent(seed: CommandFixture.seed).bytes(at: 0, count: bytes.count)))
    }
  }

  @Test
  func `DownloadQueue: one at a time; a pause starts the next one, a resume continues`()
    async throws
  {
    try await CommandFixture.with(CommandFixture.file("/a"), CommandFixture.file("/b")) { fixture in
      // Other connections must not fetch what the first one does not get.
      fixture.server.setFaults(
        "/a",
        [
          Fault(.stall(after: 1 << 20), when: .request(1)),
          Fault(.stallBeforeHead, when: .init(firstRequest: 2)),
        ])
      let lines = try Self.fifo(fixture.path("lines"))
      let arguments = [fixture.directory, fixture.server.url("/a"), fixture.server.url("/b")]
      let run = try await CommandRun(
        ["-c", "exec '\(program("DownloadQueue"))' \"$@\" < lines", "sh"] + arguments,
        in: fixture.directory, program: "/bin/sh")
      try await fixture.server.waitForHeld("/a")
      #expect(fixture.server.snapshot.requests("/b").isEmpty)
      try lines.write(contentsOf: Data("pause 1\n".utf8))
      try await fixture.server.waitUntil { $0.requests("/b").contains { $0.outcome == .completed } }
      fixture.server.setFaults("/a", [])
      try lines.write(contentsOf: Data("resume 1\nretry 2\nlist\n".utf8))
      try lines.close()
      let result = await run.end()
      #expect(result.status == 0, "\(result.errors)")
      #expect(result.output.contains("running") || result.output.contains("queued"))
      for name in ["a", "b"] {
        let bytes = try Data(contentsOf: URL(filePath: "\(fixture.directory)/\(name)"))
        #expect(bytes.count == CommandFixture.length)
      }
    }
  }

  @Test
  func `InstallChain: download, then unpack, then a message on the main actor`() async throws {
    try await CommandFixture.with(CommandFixture.file("/archive", length: 3000)) { fixture in
      let result = try await run(
        "InstallChain", [fixture.directory, fixture.server.url("/archive")], in: fixture)
      #expect(result.output == "upgrade complete\n", "\(result.errors)")
      #expect(FileManager.default.fileExists(atPath: "\(fixture.directory)/part-2"))
      fixture.server.setFaults("/archive", [Fault(.status(404))])
      let failed = try await run(
        "InstallChain", [fixture.directory, fixture.server.url("/archive")], in: fixture)
      #expect(failed.output.hasPrefix("not upgraded: "))
      #expect(failed.status == 0)
    }
  }

  @Test func `DurableQueue: killed and started again, it resumes from its bytes`() async throws {
    try await CommandFixture.with(CommandFixture.file("/a"), CommandFixture.file("/b")) { fixture in
      // One connection receives enough bytes for a claim, and no other receives any.
      fixture.server.setFaults(
        "/a",
        [
          Fault(.stall(after: 2 << 20), when: .request(1)),
          Fault(.stallBeforeHead, when: .init(firstRequest: 2)),
        ])
      let arguments = [fixture.directory, fixture.server.url("/a"), fixture.server.url("/b")]
      let first = try await CommandRun(
        arguments, in: fixture.directory, program: program("DurableQueue"))
      try await fixture.server.waitForHeld("/a")
      try await fixture.server.waitUntil { $0.requests("/b").contains { $0.outcome == .completed } }
      // Bytes without a claim must be received again.
      try await until { Self.hasClaim(fixture.path("a.haul.journal")) }
      first.send(SIGKILL)
      #expect(await first.end().status == 128 + SIGKILL)
      fixture.server.setFaults("/a", [])
      let second = try await run("DurableQueue", arguments, in: fixture)
      #expect(second.status == 0, "\(second.errors)")
      #expect(second.output.hasPrefix("2 in the list\n"))
      let reused = try #require(Self.reused("a", second, in: fixture), "\(second.output)")
      #expect(reused >= 1 << 20, "\(second.output)")
      for name in ["a", "b"] {
        let bytes = try Data(contentsOf: URL(filePath: "\(fixture.directory)/\(name)"))
        #expect(
          bytes == Data(SeededContent(seed: CommandFixture.seed).bytes(at: 0, count: bytes.count)))
        #expect(bytes.count == CommandFixture.length)
      }
    }
  }

  /// The reused bytes in a line such as `PATH: 3145728 bytes, 1048576 of them from before`; nil
  /// without such a line.
  private static func reused(
    _ name: String, _ result: CommandResult, in fixture: CommandFixture
  ) -> Int? {
    let line = result.output.split(separator: "\n").first {
      $0.hasPrefix("\(fixture.path(name)): \(CommandFixture.length) bytes, ")
    }
    let words = line?.split(separator: " ").suffix(5) ?? []
    return words.first.flatMap { Int($0) }
  }

  /// Whether a journal claims any bytes; see docs/journal-format.md.
  private static func hasClaim(_ path: String) -> Bool {
    let journal = FileManager.default.contents(atPath: path) ?? Data()
    var rest = Array(journal)[...].dropFirst(16)
    while rest.count >= 9 {
      let length = rest.dropFirst().prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
      if rest.first == 3, rest.count >= 9 + length { return true }
      rest = rest.dropFirst(9 + length)
    }
    return false
  }
}
