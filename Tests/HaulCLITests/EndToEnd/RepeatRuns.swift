import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// Downloads that the daemon repeats.
@Suite(.timeLimit(.minutes(10)))
struct RepeatRuns {
  /// Returns when the list and the log say this; the log is written after the end.
  private func say(_ words: String, about id: String, _ fixture: DaemonFixture) async throws {
    for command in [["list"], ["show", id], ["log"], ["history"]] {
      try await until {
        try await fixture.work.haul(command, environment: fixture.environment).output
          .contains(words)
      }
    }
  }

  @Test func `show has the name that the file has, beside one that its user has changed`()
    async throws
  {
    try await DaemonFixture.with(CommandFixture.file("/a")) { (fixture) async throws in
      try fixture.write("of the user", to: "a")
      let id = try await fixture.add("/a", "--every", "12h")
      #expect(try await fixture.haul("wait", id).status == 0)
      let show = try await fixture.haul("show", id).output
      #expect(show.contains("path       \(fixture.work.path("a (1)"))\n"), "\(show)")
      #expect(show.contains("instead of a\n"), "\(show)")
      #expect(try await fixture.state(of: id).lastRun?.path == fixture.work.path("a (1)"))
      let kept = "kept your a; the new one is a (1)"
      try await say(kept, about: id, fixture)
      #expect(try await fixture.haul("history", "--json").output.contains(#""kept":"a""#))
    }
  }

  @Test func `add --every runs at once, waits for its next run, and says when that is`()
    async throws
  {
    try await DaemonFixture.with(CommandFixture.file("/a")) { (fixture) async throws in
      let id = try await fixture.add("/a", "--every", "12h")
      let wait = try await fixture.haul("wait", id)
      #expect(wait.status == 0, "\(wait.errors)")
      try fixture.work.expectWhole("a")
      let transfer = try await fixture.state(of: id)
      #expect((transfer.state, transfer.every) == (.queued, "12h"))
      #expect(transfer.waiting?.code == "start-time" && transfer.nextRun == transfer.waiting?.until)
      #expect(transfer.lastRun?.state == "completed" && transfer.lastRun?.fetched ?? 0 > 0)
      #expect(try await fixture.haul("wait", "--all").status == 0, "it does not wait for 12 h")
      #expect(try await fixture.haul("watch", id).status == 0)
      let show = try await fixture.haul("show", id).output
      for part in ["repeats", "12h", "next run", "last run", "completed: "] {
        #expect(show.contains(part), "\(show)")
      }
      #expect(try await fixture.haul("list").output.contains("starts at"))
      #expect(try await fixture.haul("explain", id).output.contains("it repeats (12h)"))
      // The same again is the same transfer; one that runs once is another.
      #expect(try await fixture.add("/a", "--every", "12h") == id)
      let once = try await fixture.add("/a")
      #expect(once != id)
      #expect(try await fixture.haul("wait", once).status == 0)
      // `remove --completed` leaves it.
      #expect(try await fixture.haul("remove", "--completed").status == 0)
      #expect(try await fixture.state(of: id).every == "12h")
    }
  }

  @Test func `start runs it again, a file that has not changed costs one request`() async throws {
    try await DaemonFixture.with(CommandFixture.file("/a")) { (fixture) async throws in
      let id = try await fixture.add("/a", "--every", "mon-fri 06:00")
      #expect(try await fixture.state(of: id).lastRun == nil, "the first run is at that time")
      #expect(try await fixture.haul("start", id).status == 0)
      try await until { try await fixture.state(of: id).lastRun != nil }
      let (requests, next) = (
        fixture.work.server.requests.count, try await fixture.state(of: id).nextRun
      )
      #expect(try await fixture.haul("start", id).status == 0)
      try await until { try await fixture.state(of: id).lastRun?.fetched == 0 }
      #expect(fixture.work.server.requests.count == requests + 1)
      #expect(try await fixture.state(of: id).nextRun == next)
      try await say("unchanged", about: id, fixture)
      let ends = try await fixture.haul("history", "--json").output
      for part in [true, false] { #expect(ends.contains("\"is_unchanged\":\(part)"), "\(ends)") }
    }
  }

  @Test func `it survives kill -9, and the daemon repeats it as before`() async throws {
    try await DaemonFixture.with(CommandFixture.file("/a")) { (fixture) async throws in
      let id = try await fixture.add("/a", "--every", "12h")
      #expect(try await fixture.haul("wait", id).status == 0)
      let before = try await fixture.state(of: id)
      kill(try await fixture.pid(), SIGKILL)
      #expect(try await fixture.haul("daemon", "start").status == 0)
      let after = try await fixture.state(of: id)
      #expect((after.state, after.every, after.nextRun) == (.queued, "12h", before.nextRun))
      #expect(after.lastRun == before.lastRun)
    }
  }

  @Test func `set changes the times and ends them; what cannot be repeated is refused`()
    async throws
  {
    try await DaemonFixture.with(CommandFixture.file("/a")) { (fixture) async throws in
      let id = try await fixture.add("/a", "--every", "12h")
      #expect(try await fixture.haul("wait", id).status == 0)
      let first = try #require(try await fixture.state(of: id).nextRun)
      #expect(try await fixture.haul("set", id, "--every", "6h").status == 0)
      let transfer = try await fixture.state(of: id)
      #expect(transfer.every == "6h" && (transfer.nextRun ?? .infinity) < first)
      #expect(try await fixture.haul("pause", id).status == 0)
      #expect(try await fixture.state(of: id).nextRun == nil)
      #expect(try await fixture.haul("resume", id).status == 0)
      #expect(try await fixture.state(of: id).nextRun == transfer.nextRun)
      #expect(try await fixture.haul("set", id, "--every", "none").status == 0)
      let ended = try await fixture.state(of: id)
      #expect(ended.state == .completed && ended.every == nil && ended.result != nil)
      let late = try await fixture.haul("set", id, "--every", "6h")
      #expect(late.status == 1 && late.errors.contains("it has ended"), "\(late.errors)")
      let url = fixture.work.server.url("/a")
      for (options, part) in [
        (["--every", "10s"], "from a minute to ten years"), (["--every", "noon"], "such as 30m"),
        (["--every", "1d", "--if-exists", "rename"], "cannot be repeated"),
        (["--every", "1d", "--start-over"], "cannot be repeated"),
        (["--every", "1d", "--checksum", "crc32c=00000000"], "a digest is of one version"),
      ] {
        let refused = try await fixture.work.haul(
          ["add", url] + options, environment: fixture.environment)
        #expect(refused.status == 2 && refused.errors.contains(part), "\(refused.errors)")
      }
      let program = try await fixture.haul("add", "--every", "1d", "--run", "--", "true")
      #expect(program.status == 2 && program.errors.contains("cannot be repeated"))
      let upload = try await fixture.haul("add", "--every", "1d", "--put", "a", url)
      #expect(upload.status == 2 && upload.errors.contains("cannot be repeated"))
    }
  }
}
