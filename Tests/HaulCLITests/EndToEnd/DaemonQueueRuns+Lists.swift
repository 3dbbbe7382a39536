import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// What a list shows and what is cleared from it, also when no daemon runs.
extension DaemonQueueRuns {
  @Test func `a list is narrowed by state and host, sorted, and shown from its end`() async throws {
    try await withThree { (fixture, ids) async throws in
      #expect(try await fixture.haul("pause", ids.b).status == 0)
      func shown(_ options: String...) async throws -> [String] {
        let result = try await fixture.work.haul(
          ["list", "--json"] + options, environment: fixture.environment)
        #expect(result.status == 0, "\(result.errors)")
        return try result.output.split(separator: "\n").map { line in
          try JSONDecoder().decode(TransferDocument.self, from: Data(line.utf8)).id.description
        }
      }
      #expect(try await shown("--state", "paused,failed") == [ids.b])
      #expect(try await shown("--state", "running,queued") == [ids.a, ids.c])
      #expect(try await shown("--host", "127.0.0.1") == [ids.a, ids.b, ids.c])
      #expect(try await shown("--host", "127.0.0.1:1").isEmpty)
      #expect(try await shown("--host", "127.0.0").isEmpty)
      #expect(try await shown("--last", "2") == [ids.c, ids.b])
      #expect(try await shown("--last", "2", "--state", "running,paused") == [ids.b, ids.a])
      #expect(try await shown("--sort", "added") == [ids.c, ids.b, ids.a])
      let byState = try await shown("--sort", "state")
      #expect(byState == [ids.b, ids.c, ids.a])
      let nothing = try await fixture.haul("list", "--state", "failed")
      #expect(nothing.output == "no transfer is like that\n")
      #expect(try await fixture.haul("list", "--state", "lost").status == 2)
      #expect(try await fixture.haul("list", "--last", "1", "--limit", "1").status == 2)
    }
  }

  @Test func `more than fit are shown from the end, the newest first`() async throws {
    try await withThree { (fixture, ids) async throws in
      let list = fixture.work.path("list")
      try (1...500).map { "http://h.invalid/\($0)\n" }.joined()
        .write(toFile: list, atomically: true, encoding: .utf8)
      #expect(try await fixture.haul("suspend").status == 0)
      let added = try await fixture.haul("add", "-i", list).output.split(separator: "\n")
      let shown = try await fixture.haul("list")
      let rows = shown.output.split(separator: "\n").dropFirst().map { $0.prefix(8) }
      #expect(rows == added.reversed())
      #expect(shown.errors.contains("haul list --limit 0"), "\(shown.errors)")
      #expect(try await fixture.haul("remove", String(added[0]), ids.a, ids.b, ids.c).status == 0)
      let all = try await fixture.haul("list")
      #expect(
        all.output.split(separator: "\n").dropFirst().map { $0.prefix(8) } == Array(added[1...]))
      #expect(all.errors.isEmpty)
    }
  }

  @Test func `what is completed is removed, and what runs or waits is not stopped`() async throws {
    try await withThree { (fixture, ids) async throws in
      let nothing = try await fixture.haul("remove", "--completed")
      #expect(nothing.status == 0 && nothing.errors.contains("removed 0"), "\(nothing.errors)")
      #expect(try await fixture.haul("pause", ids.a).status == 0)
      #expect(try await fixture.haul("wait", ids.b, ids.c).status == 0)
      heal(fixture)
      #expect(try await fixture.haul("cancel", ids.a).status == 0)
      for refused in [
        ["--completed", ids.b], ["--older-than", "1d", ids.b],
        ["--failed", "--all", "--group", "g"], ["--older-than", "0d"],
      ] {
        let result = try await fixture.work.haul(
          ["remove"] + refused, environment: fixture.environment)
        #expect(result.status == 2, "\(refused)")
      }
      let old = try await fixture.haul("remove", "--completed", "--older-than", "1h")
      #expect(old.errors.contains("removed 0"), "\(old.errors)")
      let removed = try await fixture.haul("remove", "--completed", "--failed")
      #expect(removed.status == 0 && removed.errors.contains("removed 2"), "\(removed.errors)")
      #expect(try await states(fixture) == [.cancelled])
      try fixture.work.expectWhole("b")
    }
  }

  @Test
  func `the list of a daemon that was stopped is read, and neither changed nor locked`()
    async throws
  {
    try await withThree { (fixture, ids) async throws in
      #expect(try await fixture.haul("pause", ids.a).status == 0)
      #expect(try await fixture.haul("wait", ids.b, ids.c).status == 0)
      try await fixture.end()
      let lock = "\(try fixture.location().list)/queue.lock"
      let mark = try String(contentsOfFile: lock, encoding: .utf8)
      let stopped = try await fixture.haul("list")
      let rows = stopped.output.split(separator: "\n").dropFirst()
      #expect(stopped.status == 0 && rows.map { String($0.prefix(8)) } == [ids.a, ids.b, ids.c])
      #expect(rows.first?.contains("paused") == true && rows.last?.contains("completed") == true)
      #expect(stopped.errors.contains("the daemon is not running"), "\(stopped.errors)")
      let last = try await fixture.haul("list", "--last", "1", "--state", "completed")
      #expect(last.output.contains(ids.c) && !last.output.contains(ids.b))
      let shown = try await fixture.haul("show", String(ids.b.prefix(7)))
      #expect(shown.status == 0 && shown.output.contains("state      completed"))
      #expect(shown.output.contains("ended      20"), "\(shown.output)")
      let unknown = try await fixture.haul("show", "nobody")
      #expect(unknown.status == 1 && unknown.errors.contains("no transfer 'nobody'"))
      let elsewhere = try await fixture.work.haul(
        ["list", "--state-dir", try fixture.location().directory], environment: [:])
      #expect(elsewhere.output == stopped.output)
      #expect(try await fixture.haul("list", "--state-dir", "s/haul").status == 2)
      #expect(try String(contentsOfFile: lock, encoding: .utf8) == mark)
      // Its list is not in use.
      let next = try await fixture.serve("-j", "1")
      #expect(try await states(fixture) == [.paused, .completed, .completed])
      try await fixture.end()
      #expect(await next.end().status == 0)
    }
  }

  @Test
  func `the same address to the same place is found while it has not ended`() async throws {
    try await withThree { (fixture, ids) async throws in
      let again = try await fixture.haul("add", fixture.work.server.url("/b"))
      #expect(again.status == 0 && again.output == "\(ids.b)\n", "\(again.output)")
      #expect(again.errors.contains("\(ids.b) is in the list already"), "\(again.errors)")
      #expect(try await fixture.haul("pause", ids.c).status == 0)
      let json = try await fixture.haul("add", "--json", fixture.work.server.url("/c")).output
      #expect(
        try JSONDecoder().decode(AddResponse.self, from: Data(json.utf8)).same
          == [try #require(TransferID(ids.c))])
      #expect(try await fixture.add("/b", "-o", "other") != ids.b)
      #expect(try await fixture.add("/b", "-H", "X-Key: new") != ids.b, "with other credentials")
      #expect(try await fixture.add("/b", "--after", ids.a) != ids.b)
      #expect(try await fixture.add("/b", "--again") != ids.b)
      #expect(try await states(fixture).count == 7)
      #expect(try await fixture.haul("cancel", "--all").status == 0)
      #expect(try await fixture.add("/b") != ids.b, "it has ended")
    }
  }

  @Test func `keep-ended clears the list at the start, and keeps what failed`() async throws {
    try await withThree { (fixture, ids) async throws in
      fixture.work.server.setFaults("/a", [Fault(.status(403))])
      fixture.work.server.dropConnections()
      #expect(try await fixture.haul("wait", "--all").status == 1)
      try await fixture.end()
      let serving = try await fixture.serve("--keep-ended", "1")
      while try await states(fixture).count != 2 {}
      #expect(try await states(fixture) == [.failed, .completed])
      #expect(try await fixture.state(of: ids.c).state == .completed, "the newest")
      try fixture.work.expectWhole("b")
      try await fixture.end()
      #expect(await serving.end().status == 0)
    }
  }
}
