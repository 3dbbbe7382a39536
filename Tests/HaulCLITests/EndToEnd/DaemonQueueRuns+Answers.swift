import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// What commands answer, and what they leave alone.
extension DaemonQueueRuns {
  @Test func `list shows as many rows as asked for, and says that there are more`() async throws {
    try await withThree { (fixture, ids) async throws in
      let short = try await fixture.haul("list", "--limit", "2")
      #expect(short.output.contains(ids.b))
      #expect(!short.output.contains(ids.c))
      #expect(short.errors.contains("there are more"), "\(short.errors)")
      let all = try await fixture.haul("list", "--limit", "0")
      #expect(all.output.contains(ids.c))
      #expect(all.errors.isEmpty)
      #expect(try await fixture.haul("list", "--json").output.contains(ids.c))
    }
  }

  @Test
  func `a list of more transfers than one call may add is added whole, in order`() async throws {
    try await withThree { (fixture, ids) async throws in
      let count = AddBody.maximumCount + 1
      let list = fixture.work.path("list")
      try (1...count).map { "http://h.invalid/\($0)\n" }.joined()
        .write(toFile: list, atomically: true, encoding: .utf8)
      #expect(try await fixture.haul("suspend").status == 0)
      let added = try await fixture.haul("add", "-i", list)
      #expect(added.status == 0, "\(added.errors)")
      let names = added.output.split(separator: "\n")
      #expect(names.count == count)
      let last = try await fixture.state(of: String(try #require(names.last)))
      #expect(last.url?.hasSuffix("/\(count)") == true, "\(last)")
    }
  }

  @Test
  func `a pause of a program answers at once, says that it runs to its end, and cancel ends it`()
    async throws
  {
    try await DaemonFixture.with(CommandFixture.file("/a")) { fixture in
      _ = try await fixture.haul("daemon", "start")
      let added = try await fixture.haul("add", "--run", "--", "sleep", "1000")
      let id = added.output.trimmingCharacters(in: .whitespacesAndNewlines)
      while try await fixture.state(of: id).state != .running {}
      let paused = try await fixture.haul("pause", id)
      #expect(paused.status == 1, "the pause has no effect")
      let text = "it runs to its end; haul cancel \(id) ends it now"
      #expect(paused.errors.contains(text), "\(paused.errors)")
      let state = try await fixture.state(of: id)
      #expect(state.state == .stopping && state.runsToEnd)
      #expect(try await fixture.haul("explain", id).output.contains(text))
      #expect(try await fixture.haul("cancel", id).status == 0)
      #expect(try await fixture.state(of: id).state == .cancelled)
    }
  }

  @Test func `the daemon stops although a program that cannot be paused was paused`() async throws {
    try await DaemonFixture.with(CommandFixture.file("/a")) { fixture in
      let serving = try await fixture.serve()
      let added = try await fixture.haul("add", "--run", "--", "sleep", "1000")
      let id = added.output.trimmingCharacters(in: .whitespacesAndNewlines)
      while try await fixture.state(of: id).state != .running {}
      let pause = try await fixture.begin("pause", id)
      while try await fixture.state(of: id).state != .stopping {}
      #expect(try await fixture.haul("daemon", "stop").status == 0)
      #expect(await serving.end().status == 0)
      _ = await pause.end()
    }
  }

  @Test func `a suspended queue is still suspended after kill -9`() async throws {
    try await withThree { (fixture, ids) async throws in
      #expect(try await fixture.haul("suspend").status == 0)
      kill(try await fixture.pid(), SIGKILL)
      heal(fixture)
      #expect(try await fixture.haul("daemon", "start").status == 0)
      #expect(try await fixture.haul("daemon", "status").output.contains("the queue is suspended"))
      #expect(try await fixture.haul("explain", ids.b).output.contains("the queue is suspended"))
      #expect(try await fixture.haul("unsuspend").status == 0)
      #expect(try await fixture.haul("wait", "--all").status == 0)
    }
  }

  @Test
  func `a web page in place of the file has failed, also after a restart`() async throws {
    let login = Fault(.status(200, headers: ["Content-Type: text/html"], body: "<html>log in"))
    try await DaemonFixture.with(FaultScript.Resource("/dl", length: 1, faults: [login])) {
      fixture in
      let id = try await fixture.add("/dl", "-o", "a.iso")
      let text = "the server sent a web page"
      let waited = try await fixture.haul("wait", id)
      #expect(waited.status == 1)
      #expect(waited.errors.contains("a.iso failed: \(text)"), "\(waited.errors)")
      #expect(try await fixture.haul("daemon", "stop").status == 0)
      #expect(try await fixture.haul("daemon", "start").status == 0)
      let listed = try await fixture.haul("list", "--json").output
      #expect(listed.contains(#""code":"web-page""#), "\(listed)")
      #expect(try await fixture.haul("explain", id).output.contains("a.iso failed: \(text)"))
    }
  }

  @Test func `when transfers were added and ended is known after a restart`() async throws {
    try await withThree { (fixture, ids) async throws in
      heal(fixture)
      #expect(try await fixture.haul("wait", "--all").status == 0)
      let before = try await fixture.state(of: ids.b)
      #expect(before.added != nil && before.ended != nil)
      #expect(try await fixture.haul("daemon", "stop").status == 0)
      #expect(try await fixture.haul("daemon", "start").status == 0)
      let after = try await fixture.state(of: ids.b)
      let difference = abs((after.added ?? 0) - (before.added ?? 0))
      #expect(difference < 0.001 && after.ended != nil, "\(after)")
    }
  }

  @Test func `when a transfer was added is known after kill -9 at once`() async throws {
    try await withThree { (fixture, ids) async throws in
      let id = try await fixture.add("/b", "-o", "late")
      kill(try await fixture.pid(), SIGKILL)
      heal(fixture)
      #expect(try await fixture.haul("daemon", "start").status == 0)
      let after = try await fixture.state(of: id)
      #expect(after.added != nil, "\(after)")
    }
  }

  @Test
  func `remove --delete-file deletes what was downloaded, and nothing that has changed since`()
    async throws
  {
    try await withThree { (fixture, ids) async throws in
      #expect(try await fixture.haul("pause", ids.a).status == 0)
      #expect(try await fixture.haul("wait", ids.b, ids.c).status == 0)
      try "mine".write(toFile: fixture.work.path("c"), atomically: true, encoding: .utf8)
      let removed = try await fixture.haul("remove", "--delete-file", "--all")
      #expect(removed.status == 1)
      #expect(removed.errors.contains("/c was not deleted: it has changed"), "\(removed.errors)")
      #expect(try fixture.work.names() == ["c", "s"])
      #expect(try await fixture.haul("list").output == "the list is empty\n")
    }
  }

  @Test func `remove --delete-file leaves a file that the download only found`() async throws {
    try await withThree { (fixture, ids) async throws in
      try "mine".write(toFile: fixture.work.path("own"), atomically: true, encoding: .utf8)
      #expect(try await fixture.haul("cancel", ids.a).status == 0)
      let id = try await fixture.add("/b", "-o", "own", "--if-exists", "skip")
      #expect(try await fixture.haul("wait", id).status == 0)
      let removed = try await fixture.haul("remove", "--delete-file", id)
      #expect(removed.status == 1)
      #expect(removed.errors.contains("/own was not deleted"), "\(removed.errors)")
      #expect(try String(contentsOfFile: fixture.work.path("own"), encoding: .utf8) == "mine")
    }
  }

  @Test
  func `remove --delete-file does not follow another user's link in a directory for all`()
    async throws
  {
    // Only the superuser can give a link away.
    guard geteuid() == 0 else { return }
    try await withThree { (fixture, ids) async throws in
      #expect(try await fixture.haul("cancel", ids.a).status == 0)
      let link = fixture.work.path("shared/dl")
      for name in ["shared", "target"] { try #require(mkdir(fixture.work.path(name), 0o755) == 0) }
      try #require(chmod(fixture.work.path("shared"), 0o1777) == 0)
      try #require(symlink("../target", link) == 0)
      var added: [String] = []
      for path in ["/b", "/c"] { added.append(try await fixture.add(path, "-d", link)) }
      #expect(try await fixture.haul("wait", added[0], added[1]).status == 0)
      #expect(try await fixture.haul("remove", "--delete-file", added[0]).status == 0)
      try #require(lchown(link, 12_345, 12_345) == 0)
      let removed = try await fixture.haul("remove", "--delete-file", added[1])
      #expect(removed.status == 1)
      #expect(removed.errors.contains("/c was not deleted"), "\(removed.errors)")
      let names = try FileManager.default.contentsOfDirectory(atPath: fixture.work.path("target"))
      #expect(names == ["c"])
    }
  }

  @Test
  func `a group without members is an error with its reason, and a removed dependency is named`()
    async throws
  {
    try await withThree { (fixture, ids) async throws in
      for command in ["wait", "watch", "pause", "cancel"] {
        let result = try await fixture.haul(command, "--group", "nobody")
        #expect(result.status == 1)
        #expect(result.errors.contains("no transfer is in the group 'nobody'"))
      }
      let later = try await fixture.add("/b", "-o", "later", "--after", ids.c)
      #expect(try await fixture.haul("remove", ids.c).status == 0)
      let why = try await fixture.haul("explain", later).output
      #expect(why.contains("was removed; haul remove \(later)"), "\(why)")
    }
  }

  @Test
  func `an unknown id is an error with a line, and the command is done for the others`()
    async throws
  {
    try await withThree { (fixture, ids) async throws in
      let unknown = "there is no transfer 'nope' in the list"
      let paused = try await fixture.haul("pause", ids.a, "nope", ids.c)
      #expect(paused.status == 1 && paused.errors.contains(unknown), "\(paused.errors)")
      #expect(try await fixture.state(of: ids.a).state == .paused)
      #expect(try await fixture.state(of: ids.c).state == .paused)
      #expect(try await fixture.haul("wait", ids.b).status == 0)
      for command in ["wait", "watch"] {
        let result = try await fixture.haul(command, "nope", ids.b)
        #expect(result.status == 1 && result.errors.contains(unknown), "\(result.errors)")
      }
      let moved = try await fixture.haul("move", "--before", "nope", ids.a, ids.c)
      #expect(moved.status == 1 && moved.errors.contains(unknown), "\(moved.errors)")
      for names in [["nope"], ["nope", "neither"]] {
        let removed = try await fixture.work.haul(
          ["remove"] + names, environment: fixture.environment)
        #expect(removed.status == 1)
        for name in names { #expect(removed.errors.contains("'\(name)'"), "\(removed.errors)") }
      }
    }
  }

  @Test func `a wait says why for each transfer that was not completed`() async throws {
    try await withThree { (fixture, ids) async throws in
      #expect(try await fixture.haul("pause", ids.a).status == 0)
      let missing = try await fixture.add("/missing")
      let waited = try await fixture.haul("wait", "--all")
      #expect(waited.status == 1)
      #expect(waited.errors.contains("\(ids.a): a is paused; haul resume"), "\(waited.errors)")
      #expect(waited.errors.contains("\(missing): missing failed: "), "\(waited.errors)")
      #expect(waited.errors.split(separator: "\n").count == 2, "\(waited.errors)")
      let one = try await fixture.haul("wait", ids.a, ids.b)
      #expect(one.status == 3 && one.errors.contains("a is paused"), "\(one.errors)")
    }
  }

  @Test func `a transfer that is removed while it is awaited is no success`() async throws {
    try await withThree { (fixture, ids) async throws in
      let watching = try await fixture.begin("watch", "--json", ids.a)
      try await watching.reach("it was shown") { output, _ in output.contains("running") }
      let waiting = try await fixture.begin("wait", ids.a)
      let second = try await fixture.begin("watch", "--json", ids.a)
      try await second.reach("it was shown") { output, _ in output.contains("running") }
      #expect(try await fixture.haul("remove", ids.a).status == 0)
      #expect(await watching.end().status == 3)
      _ = await second.end()
      let waited = await waiting.end()
      // The wait may have come after the removal.
      #expect(waited.status == 3 || waited.errors.contains("there is no transfer"))
    }
  }

  @Test(arguments: [SIGTERM, SIGKILL])
  func `a wait ends with the daemon, and nothing has failed`(signal: Int32) async throws {
    try await withThree { (fixture, ids) async throws in
      let waits = [
        try await fixture.begin("wait", ids.a), try await fixture.begin("watch", "--json", ids.a),
      ]
      try await waits[1].reach("it was shown") { output, _ in output.contains("running") }
      kill(try await fixture.pid(), signal)
      for wait in waits {
        let result = await wait.end()
        // The wait may have come after the end.
        #expect(result.status == 3 || result.errors.contains("is not running"), "\(result.errors)")
      }
    }
  }

  @Test func `a wait ends with 3 if the dependency is paused`() async throws {
    try await withThree { (fixture, ids) async throws in
      let later = try await fixture.add("/b", "--after", ids.a, "--id", "later")
      #expect(try await fixture.haul("pause", ids.a).status == 0)
      #expect(try await fixture.haul("wait", later).status == 3)
      let why = try await fixture.haul("explain", later).output
      #expect(why.contains("haul resume \(ids.a) lets both continue"), "\(why)")
    }
  }

  @Test func `a wait for a group ends with the members that came meanwhile`() async throws {
    try await DaemonFixture.with(
      CommandFixture.file("/a", Fault(.stall(after: CommandFixture.stallOffset)))
    ) {
      fixture in
      _ = try await fixture.add("/a", "--group", "g")
      try await fixture.work.server.waitForHeld("/a")
      let waiting = try await fixture.begin("wait", "--group", "g")
      let watching = try await fixture.begin("watch", "--json", "--group", "g")
      try await watching.reach("it was shown") { output, _ in output.contains("running") }
      // Its failure shows whether the wait was also for it.
      _ = try await fixture.add("/missing", "--group", "g")
      heal(fixture)
      fixture.work.server.release("/a")
      #expect(await waiting.end().status == 1)
      _ = await watching.end()
    }
  }

  @Test
  func `an own name may have any characters; an option of downloads is not for a program`()
    async throws
  {
    try await withThree { (fixture, _) async throws in
      let name = "my file/ä?#%"
      let id = try await fixture.add("/b", "-o", "own", "--id", name)
      #expect(try await fixture.haul("show", name).output.contains(id))
      #expect(try await fixture.haul("explain", name).status == 0)
      _ = try await fixture.add("/b", "-o", "other", "--id", id)
      #expect(try await fixture.haul("show", id).output.contains(name))
      let unknown = try await fixture.haul("add", "--after", "nobody", "--run", "--", "true")
      #expect(unknown.status == 1, "\(unknown.errors)")
      let program = try await fixture.haul("add", "-o", "x", "--run", "--", "true")
      #expect(program.status == 2 && program.errors.contains("--output"), "\(program.errors)")
    }
  }

  @Test
  func `add with a known name finds the same transfer, and fails for another one`() async throws {
    try await withThree { (fixture, _) async throws in
      let id = try await fixture.add("/b", "-o", "own", "--id", "mine")
      let same = try await fixture.haul(
        "add", fixture.work.server.url("/b"), "-o", "own", "--id", "mine")
      #expect(same.output == id + "\n" && same.errors.isEmpty, "\(same.errors)")
      let url = fixture.work.server.url("/b")
      let digest = "sha-256=" + String(repeating: "0", count: 64)
      let others = [
        ([fixture.work.server.url("/c"), "-o", "own"], "another address, \(url)"),
        ([url, "-o", "other"], "another file"),
        ([url, "-o", "own", "--checksum", digest], "check"),
        ([url, "-o", "own", "-H", "X: y"], "header"), (["--run", "--", "true"], "kind of work"),
      ]
      for (arguments, difference) in others {
        let other = try await fixture.work.haul(
          ["add", "--id", "mine"] + arguments, environment: fixture.environment)
        #expect(other.status == 1 && other.output.isEmpty, "\(arguments)")
        #expect(other.errors.contains(difference), "\(other.errors)")
      }
    }
  }

  @Test func `a start or a retry of a blocked transfer says why it does not start`() async throws {
    try await withThree { (fixture, ids) async throws in
      #expect(try await fixture.haul("cancel", ids.b).status == 0)
      let blocked = try await fixture.add("/b", "-o", "later", "--after", ids.b)
      for arguments in [["start", "--force", blocked], ["retry", blocked]] {
        let result = try await fixture.work.haul(arguments, environment: fixture.environment)
        #expect(result.status == 0)
        #expect(result.errors.contains("haul retry \(ids.b)"), "\(result.errors)")
      }
      #expect(try await fixture.haul("start", ids.c).errors.isEmpty)
    }
  }

  @Test
  func `shell completion gets ids, names and groups, without control characters`() async throws {
    try await withThree { (fixture, ids) async throws in
      _ = try await fixture.haul("suspend")
      _ = try await fixture.add("/b", "--id", "mine", "--group", "g\u{1B}[2J", "-o", "other")
      _ = try await fixture.add("/b", "--group", "season", "-o", "another")
      let names = try await fixture.haul("list", "--names", "transfers").output
      for name in [ids.a, ids.b, ids.c, "mine"] { #expect(names.contains("\(name)\n")) }
      #expect(try await fixture.haul("list", "--names", "groups").output == "season\n")
    }
  }

  @Test func `a terminal that is closed ends no daemon: the file arrives`() async throws {
    try await DaemonFixture.with(
      CommandFixture.file("/a", Fault(.stall(after: CommandFixture.stallOffset)))
    ) {
      fixture in
      let id = try await fixture.addInTerminal("/a")
      try await fixture.work.server.waitForHeld("/a")
      heal(fixture)
      fixture.work.server.release("/a")
      #expect(try await fixture.haul("wait", id).status == 0)
      try fixture.work.expectWhole("a")
    }
  }
}
