import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// `haul watch` beside a real daemon.
@Suite(.timeLimit(.minutes(10)))
struct WatchRuns {
  @Test
  func `ends with the last transfer, says how each ended, and has the exit status of wait`()
    async throws
  {
    let stall = Fault(.stall(after: CommandFixture.stallOffset))
    try await DaemonFixture.with(CommandFixture.file("/a", stall), CommandFixture.file("/b")) {
      fixture in
      let (a, b) = (try await fixture.add("/a"), try await fixture.add("/b"))
      try await fixture.work.server.waitForHeld("/a")
      #expect(try await fixture.haul("wait", b).status == 0)
      let watch = try await fixture.begin("watch")
      fixture.work.server.release("/a")
      let result = await watch.end()
      #expect(result.status == 0, "\(result.errors)")
      #expect(result.errors.contains("haul: 2 completed"), "\(result.errors)")
      #expect(result.output.isEmpty)
      #expect(try await fixture.haul("cancel", a).status == 1, "it is completed")
    }
  }

  @Test func `one that is paused ends it with status 3`() async throws {
    try await DaemonFixture.with(
      CommandFixture.file("/a", Fault(.stall(after: CommandFixture.stallOffset)))
    ) {
      fixture in
      let a = try await fixture.add("/a")
      #expect(try await fixture.haul("pause", a).status == 0)
      let result = try await fixture.haul("watch", a)
      #expect(result.status == 3)
      #expect(result.errors.contains("1 paused"), "\(result.errors)")
    }
  }

  @Test
  func `--json prints the state of a transfer, then its events in the form of get`() async throws {
    try await DaemonFixture.with(CommandFixture.file("/a"), CommandFixture.file("/b")) { fixture in
      #expect(try await fixture.haul("daemon", "start").status == 0)
      #expect(try await fixture.haul("suspend").status == 0)
      let (a, _) = (try await fixture.add("/a"), try await fixture.add("/b"))
      let watch = try await fixture.begin("watch", "--json", a)
      try await watch.reach("the transfer was shown") { output, _ in output.contains("\n") }
      _ = try await fixture.haul("unsuspend")
      let result = await watch.end()
      #expect(result.status == 0, "\(result.errors)")
      let schema = try EventSchema()
      let lines = try result.output.split(separator: "\n").map { line in
        #expect(try schema.violations(line: String(line)) == [])
        return try JSONValue(parsing: String(line))
      }
      #expect(Set(lines.map { $0["id"]?.string }) == [a])
      #expect(lines.first?["type"] == .string("transfer"))
      let end = try #require(lines.finished.first)
      #expect(end["state"] == .string("completed") && end["background"] == .bool(true))
    }
  }

  @Test func `says so when the daemon is stopped`() async throws {
    try await DaemonFixture.with(
      CommandFixture.file("/a", Fault(.stall(after: CommandFixture.stallOffset)))
    ) {
      fixture in
      _ = try await fixture.add("/a")
      let watch = try await fixture.begin("watch", "--json")
      try await watch.reach("the transfer was shown") { output, _ in output.contains("running") }
      #expect(try await fixture.haul("daemon", "stop").status == 0)
      let result = await watch.end()
      #expect(result.status == 3)
      #expect(result.errors.contains("the daemon was stopped"), "\(result.errors)")
    }
  }

  @Test func `an unknown id is refused`() async throws {
    try await DaemonFixture.with(CommandFixture.file("/a")) { fixture in
      #expect(try await fixture.haul("daemon", "start").status == 0)
      let result = try await fixture.haul("watch", "nothing")
      #expect(result.status == 1)
      #expect(result.errors.contains("there is no transfer 'nothing'"), "\(result.errors)")
    }
  }
}
