import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// What the daemon keeps about its transfers.
extension DaemonQueueRuns {
  @Test
  func `log has starts and ends, of one transfer too, goes on, and needs no daemon`()
    async throws
  {
    try await withThree { (fixture, ids) async throws in
      let following = try await fixture.begin("log", "--follow", ids.c)
      #expect(try await fixture.haul("pause", ids.a).status == 0)
      #expect(try await fixture.haul("wait", ids.b, ids.c).status == 0)
      try await following.reach("the end") { output, _ in
        output.contains("\(ids.c): completed")
      }
      following.send(SIGTERM)
      let followed = await following.end().output
      #expect(followed.contains("\(ids.c): started") && !followed.contains(ids.b))
      try await fixture.end()
      let all = try await fixture.haul("log")
      #expect(all.status == 0 && all.output.contains("\(ids.a): started"))
      let time = /[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}  .+/
      #expect(all.output.split(separator: "\n").allSatisfy { $0.wholeMatch(of: time) != nil })
      let last = try await fixture.haul("log", "--last", "1", "--json")
      let entry = try JSONDecoder().decode(LogEntry.self, from: Data(last.output.utf8))
      #expect(entry.kind == .completed && entry.id?.description == ids.c)
      #expect(try await fixture.haul("log", "~").status == 2)
    }
  }

  @Test func `log has a line at once if a host does not answer`() async throws {
    try await DaemonFixture.with { (fixture) async throws in
      // Nothing listens there.
      let added = try await fixture.haul("add", "http://127.0.0.1:1/a")
      #expect(added.status == 0, "\(added.errors)")
      try await until {
        try await fixture.haul("log").output.contains("127.0.0.1:1 does not answer: 1 transfer")
      }
      #expect(try await fixture.haul("log", "--json").output.contains(#""kind":"outage""#))
    }
  }

  @Test func `a directory that is not there is no empty log`() async throws {
    try await DaemonFixture.with { (fixture) async throws in
      let missing = fixture.work.path("missing")
      for command in ["log", "history"] {
        let own = try await fixture.haul(command)
        #expect(own.status == 1 && own.errors.contains("no state directory \(fixture.state)/haul"))
        let other = try await fixture.haul(command, "--state-dir", missing)
        #expect(other.status == 1 && other.errors.contains(missing), "\(other.errors)")
        #expect(other.output.isEmpty && !FileManager.default.fileExists(atPath: missing))
      }
    }
  }

  @Test func `a log that is kept has the time of what keeps the daemon from starting`()
    async throws
  {
    try await DaemonFixture.with { (fixture) async throws in
      func shell(_ script: String) async throws -> CommandResult {
        try await CommandRun(
          ["-c", script, CommandRun.executable.path], in: fixture.work.directory,
          environment: fixture.environment, program: "/bin/sh"
        ).end()
      }
      let time = /[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[^ ]* error .+/
      for (script, status, part) in [
        ("\"$0\" serve --watch relative 2>log", 2, "--watch needs the absolute path"),
        ("HOME= XDG_STATE_HOME= \"$0\" serve 2>log", 1, "neither XDG_STATE_HOME nor HOME"),
      ] {
        #expect(try await shell(script).status == Int32(status))
        let log = try String(contentsOfFile: fixture.work.path("log"), encoding: .utf8)
        #expect(log.split(separator: "\n").allSatisfy { $0.wholeMatch(of: time) != nil }, "\(log)")
        #expect(log.contains(part), "\(log)")
      }
      let journal = "JOURNAL_STREAM=$(stat -L -c %d:%i /dev/stderr)"
      let wrong = try await shell("\(journal) \"$0\" serve --watch relative")
      #expect(wrong.errors.hasPrefix("<3>--watch needs the absolute path"), "\(wrong.errors)")
      let other = try await shell("JOURNAL_STREAM=1:1 \"$0\" serve --watch relative")
      #expect(other.errors.hasPrefix("haul: --watch needs the absolute path"), "\(other.errors)")
    }
  }

  @Test func `wait --timeout ends with a status of its own, and what it waited for goes on`()
    async throws
  {
    try await withThree { (fixture, ids) async throws in
      let early = try await fixture.haul("wait", "--timeout", "0.2", ids.a)
      #expect(early.status == 75 && early.errors.contains("not all have ended"), "\(early.errors)")
      #expect(try await fixture.state(of: ids.a).state == .running)
      #expect(try await fixture.haul("cancel", ids.a).status == 0)
      let done = try await fixture.haul("wait", "--timeout", "1h", ids.b, ids.c)
      #expect(done.status == 0, "\(done.errors)")
      #expect(try await fixture.haul("wait", "--timeout", "0", ids.b).status == 2)
    }
  }

  @Test func `explain takes a group, several, or all`() async throws {
    try await withThree { (fixture, ids) async throws in
      #expect(try await fixture.haul("set", ids.a, ids.b, "--group", "g").status == 0)
      let group = try await fixture.haul("explain", "--group", "g")
      let lines = group.output.split(separator: "\n")
      #expect(lines.count == 2 && lines[0].hasPrefix("\(ids.a): a is running"), "\(group.output)")
      #expect(lines[1].hasPrefix("\(ids.b): b waits: "))
      #expect(try await fixture.haul("explain", ids.a).output.hasPrefix("a is running"))
      #expect(try await fixture.haul("explain", "--all").output.contains("\(ids.c): "))
      let empty = try await fixture.haul("explain", "--group", "none")
      #expect(empty.status == 1 && empty.errors.contains("no transfer is in the group"))
      #expect(try await fixture.haul("explain").status == 2)
      #expect(try await fixture.haul("cancel", ids.a).status == 0)
      #expect(try await fixture.haul("wait", ids.b, ids.c).status == 0)
      #expect(!(try await fixture.haul("explain", "--group", "g").output.contains(ids.b)))
      #expect(try await fixture.haul("remove", ids.a).status == 0)
      #expect(try await fixture.haul("explain", "--all").output == "all are completed\n")
    }
  }

  @Test func `history has what ended, the newest first, also once it was removed`() async throws {
    try await withThree { (fixture, ids) async throws in
      #expect(try await fixture.haul("cancel", ids.a).status == 0)
      #expect(try await fixture.haul("wait", ids.b, ids.c).status == 0)
      while try await !fixture.haul("log").output.contains("\(ids.c): completed") {}
      #expect(try await fixture.haul("remove", "--all").status == 0)
      let history = try await fixture.haul("history")
      let rows = history.output.split(separator: "\n").dropFirst().map(String.init)
      #expect(rows.count == 3 && rows[0].contains(ids.c) && rows[2].contains(ids.a))
      #expect(rows[0].contains(fixture.work.path("c")) && rows[0].contains("completed"))
      let some = try await fixture.haul("history", "--state", "cancelled")
      #expect(some.output.contains(ids.a) && !some.output.contains(ids.b))
      let one = try await fixture.haul("history", "--limit", "1")
      #expect(one.output.contains(ids.c) && one.errors.contains("there are more"))
      #expect(try await fixture.haul("history", "--group", "g").output == "nothing has ended\n")
      #expect(try await fixture.haul("history", "--state", "running").status == 2)
      for command in ["history", "log"] {
        let now = try await fixture.haul(command, "--since", "1h")
        #expect(now.output.contains(ids.c), "\(now.errors)")
        let before = try await fixture.haul(command, "--until", "1h")
        #expect(before.status == 0 && !before.output.contains(ids.c), "\(before.output)")
        let wrong = try await fixture.haul(command, "--since", "yesterday")
        #expect(wrong.status == 2 && wrong.errors.contains("--since: write a time"))
      }
      #expect(try await fixture.haul("log", "--follow", "--until", "1h").status == 2)
    }
  }
}
