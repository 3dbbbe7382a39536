import Foundation
import HaulTesting
import Testing

/// Runs of a list that is longer than what is in memory at once.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct LongListRuns {
  private static let count = 4300
  private static let failing: Set = ["/2", "/4200", "/4300"]

  @Test func `a list from a pipe is worked off, and again by its manifest`() async throws {
    let files = (1...Self.count).map { CommandFixture.file("/\($0)", length: 3) }
    try await CommandFixture.with(files) { (fixture) async throws in
      // What is held of a list in memory is shorter.
      let comment = String(repeating: "# \(String(repeating: "x", count: 97))\n", count: 12_000)
      let list = comment + (1...Self.count).map { fixture.server.url("/\($0)") + "\n" }.joined()
      try Data(list.utf8).write(to: URL(filePath: fixture.path("list")))
      for path in Self.failing { fixture.server.setFaults(path, [.always(.status(404))]) }
      func run(after line: String = "") async throws -> CommandResult {
        let haul = "\(CommandRun.executable.path) get -q -i - -d files --durability relaxed"
        return try await CommandRun(
          ["-c", "(cat list; echo '\(line)') | \(haul) --manifest done.jsonl"],
          in: fixture.directory, program: "/bin/sh"
        ).end()
      }
      let wrong = try await run(after: "ftp://h/x")
      #expect(wrong.status == 2 && wrong.errors.contains("standard input: line 16301: "))
      #expect(fixture.server.snapshot.requests.isEmpty)
      let first = try await run()
      #expect(first.status == 1)
      #expect(first.failures.count == Self.failing.count, "\(first.errors)")
      #expect(try fixture.names("files").count == Self.count - Self.failing.count)

      for path in Self.failing { fixture.server.setFaults(path, []) }
      let before = fixture.server.snapshot.requests.count
      let second = try await run()
      #expect(second.status == 0, "\(second.errors)")
      let asked = fixture.server.snapshot.requests.dropFirst(before).map(\.path)
      #expect(Set(asked) == Self.failing && asked.count == Self.failing.count)
      #expect(try fixture.names("files").count == Self.count)
      let sum = try await fixture.haul(["manifest", "done.jsonl"])
      #expect(sum.output == "4300 files: 4300 complete (12.6 KiB)\n")
      let third = try await run()
      #expect(third.status == 0 && fixture.server.snapshot.requests.count == before + asked.count)
    }
  }
}
