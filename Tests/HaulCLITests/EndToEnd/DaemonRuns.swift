import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// The real daemon, steered by commands.
@Suite(.timeLimit(.minutes(10)))
struct DaemonRuns {
  @Test
  func `is started by add, downloads after add has ended, and is stopped by a command`()
    async throws
  {
    try await DaemonFixture.with(CommandFixture.file()) { fixture in
      let added = try await fixture.haul("add", fixture.work.server.url("/file.bin"))
      #expect(added.status == 0)
      #expect(added.errors.contains("started the daemon (pid "))
      let id = added.output.trimmingCharacters(in: .newlines)
      #expect(TransferID(id) != nil, "\(added.output)")
      let waited = try await fixture.haul("wait", id)
      #expect(waited.status == 0, "\(waited.errors)")
      try fixture.work.expectWhole()
      let list = try await fixture.haul("list")
      let lines = list.output.split(separator: "\n")
      #expect(lines.count == 2)
      #expect(lines.last?.contains("\(id)  file.bin  completed") ?? false, "\(list.output)")
      let stopped = try await fixture.haul("daemon", "stop")
      #expect(stopped.status == 0)
      let status = try await fixture.haul("daemon", "status")
      #expect(status.status == 1)
      #expect(status.output == "the daemon is not running\n")
    }
  }

  @Test
  func `keeps its list when it is stopped, and resumes the transfers when it runs again`()
    async throws
  {
    let stall = Fault(.stall(after: CommandFixture.stallOffset))
    try await DaemonFixture.with(CommandFixture.file("/file.bin", stall)) { fixture in
      let id = try await fixture.add("/file.bin")
      try await fixture.work.server.waitForHeld("/file.bin")
      #expect(try await fixture.haul("daemon", "stop").status == 0)
      fixture.work.server.setFaults("/file.bin", [])
      #expect(try await fixture.haul("daemon", "start").status == 0)
      #expect(try await fixture.haul("wait", id).status == 0)
      try fixture.work.expectWhole()
    }
  }

  @Test
  func `resumes at a new address if strong validator and length agree, else keeps the bytes`()
    async throws
  {
    let cut = Fault(.reset(after: CommandFixture.stallOffset), when: .request(1))
    let gone = Fault(.status(403), when: .init(skip: 1))
    let old = CommandFixture.file("/file.bin", cut).with { $0.faults.append(gone) }
    let same = CommandFixture.file("/new/file.bin")
    let renamed = CommandFixture.file("/x/other.bin")
    let another = CommandFixture.file("/other/file.bin").with {
      ($0.seed, $0.entityTag) = (9, "\"other\"")
    }
    try await DaemonFixture.with(old, same, renamed, another) { fixture in
      let server = fixture.work.server
      let id = try await fixture.add("/file.bin")
      #expect(try await fixture.haul("wait", id).status == 1)
      #expect(try await fixture.state(of: id).bytes > 0)
      #expect(try await fixture.haul("set", id, "--url", server.url("/other/file.bin")).status == 0)
      #expect(try await fixture.haul("retry", id).status == 0)
      #expect(try await fixture.haul("wait", id).status == 1)
      #expect(try await fixture.state(of: id).error?.code == .changedOnServer)
      #expect(try await fixture.haul("explain", id).output.contains("haul restart \(id)"))
      let refused = try await fixture.haul("set", id, "--url", server.url("/x/other.bin"))
      #expect(refused.status != 0)
      #expect(refused.errors.contains("--same-resource"), "\(refused.errors)")
      let set = try await fixture.haul(
        "set", id, "--url", server.url("/x/other.bin"), "--same-resource")
      #expect(set.status == 0, "\(set.errors)")
      #expect(try await fixture.haul("retry", id).status == 0)
      #expect(try await fixture.haul("wait", id).status == 0)
      try fixture.work.expectWhole()
      let ranges = server.snapshot.requests("/x/other.bin").map(\.range)
      #expect(!ranges.contains("bytes=0-") && !ranges.contains(nil), "\(ranges)")
    }
  }

  @Test func `that was killed loses nothing`() async throws {
    let stall = Fault(.stall(after: CommandFixture.stallOffset))
    try await DaemonFixture.with(CommandFixture.file("/file.bin", stall)) { fixture in
      let id = try await fixture.add("/file.bin")
      try await fixture.work.server.waitForHeld("/file.bin")
      kill(try await fixture.pid(), SIGKILL)
      fixture.work.server.setFaults("/file.bin", [])
      try await fixture.work.server.waitUntil { $0.connectionsOpen == 0 }
      #expect(try await fixture.haul("daemon", "start").status == 0)
      #expect(try await fixture.haul("wait", id).status == 0)
      try fixture.work.expectWhole()
      #expect(try await fixture.state(of: id).state == .completed)
    }
  }

  @Test func `that was killed still shows how much there is of a paused one`() async throws {
    let stall = Fault(.stall(after: CommandFixture.stallOffset))
    try await DaemonFixture.with(CommandFixture.file("/file.bin", stall)) { fixture in
      let id = try await fixture.add("/file.bin")
      try await fixture.work.server.waitForHeld("/file.bin")
      #expect(try await fixture.haul("pause", id).status == 0)
      let before = try await fixture.state(of: id)
      #expect(before.bytes > 0)
      kill(try await fixture.pid(), SIGKILL)
      #expect(try await fixture.haul("daemon", "start").status == 0)
      let after = try await fixture.state(of: id)
      #expect(after.state == .paused)
      #expect((after.bytes, after.total) == (before.bytes, before.total))
    }
  }

  @Test func `is started once by adds that race, and both add`() async throws {
    try await DaemonFixture.with(CommandFixture.file("/a"), CommandFixture.file("/b")) { fixture in
      async let first = fixture.add("/a")
      async let second = fixture.add("/b")
      let ids = try await [first, second]
      #expect(Set(ids).count == 2)
      #expect(try await fixture.haul("wait", "--all").status == 0)
      try fixture.work.expectWhole("a")
      try fixture.work.expectWhole("b")
    }
  }

  @Test func `refuses a second one on the same list, and names the first`() async throws {
    try await DaemonFixture.with(CommandFixture.file()) { fixture in
      #expect(try await fixture.haul("daemon", "start").status == 0)
      let pid = try await fixture.pid()
      let second = try await fixture.haul("serve")
      #expect(second.status == 1)
      #expect(second.errors.contains("\(pid)"), "\(second.errors)")
      #expect(try await fixture.pid() == pid, "the first one still answers")
    }
  }

  @Test func `starts the next one when one is paused, and resumes it in its place`() async throws {
    let stall = Fault(.stall(after: CommandFixture.stallOffset))
    try await DaemonFixture.with(CommandFixture.file("/a", stall), CommandFixture.file("/b", stall))
    { fixture in
      let serving = try await fixture.serve("-j", "1")
      let (a, b) = (try await fixture.add("/a"), try await fixture.add("/b"))
      try await fixture.work.server.waitForHeld("/a")
      #expect(try await fixture.haul("explain", b).output.contains("all slots are taken"))
      #expect(try await fixture.haul("pause", a).status == 0)
      try await fixture.work.server.waitForHeld("/b")
      #expect(try await fixture.state(of: a).state == .paused)
      #expect(try await fixture.haul("explain", a).output.contains("haul resume \(a)"))
      fixture.work.server.setFaults("/a", [])
      #expect(try await fixture.haul("resume", "--all").status == 0)
      #expect(try await fixture.state(of: a).state == .queued, "no slot is free")
      #expect(try await fixture.haul("cancel", String(b.prefix(5))).status == 0)
      #expect(try await fixture.haul("wait", "--all").status == 3)
      #expect(try await fixture.state(of: a).state == .completed)
      #expect(try await fixture.state(of: b).state == .cancelled)
      #expect(try fixture.work.names().sorted() == ["a", "s"], "no part file is left")
      serving.send(SIGTERM)
      #expect(await serving.end().status == 0)
    }
  }

  @Test func `is not there: every command says how to start it`() async throws {
    try await DaemonFixture.with(CommandFixture.file()) { fixture in
      for command in [["list"], ["pause", "--all"], ["show", "x"], ["wait", "--all"]] {
        let result = try await fixture.work.haul(command, environment: fixture.environment)
        #expect(result.status == 1)
        #expect(
          result.errors == "haul: the daemon is not running; start it with: haul daemon start\n")
      }
    }
  }

  @Test func `is refused a state directory that others may use`() async throws {
    try await DaemonFixture.with(CommandFixture.file()) { fixture in
      let directory = try fixture.location().directory
      try FileManager.default.createDirectory(
        atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755]
      )
      let result = try await fixture.haul("serve")
      #expect(result.status == 1)
      #expect(result.errors.contains("chmod 700"), "\(result.errors)")
    }
  }

  @Test
  func `that cannot start says why: a damaged list, a file in the place of the socket`()
    async throws
  {
    try await DaemonFixture.with([]) { fixture in
      let location = try fixture.location()
      let ownerOnly = [FileAttributeKey.posixPermissions: 0o700]
      try FileManager.default.createDirectory(
        atPath: location.list, withIntermediateDirectories: true, attributes: ownerOnly)
      try FileManager.default.setAttributes(ownerOnly, ofItemAtPath: location.directory)
      try Data(repeating: 65, count: 9000).write(to: URL(filePath: "\(location.list)/queue.sqlite"))
      let damaged = try await fixture.haul("daemon", "start")
      #expect(damaged.status == 2 && damaged.errors.contains("cannot start"), "\(damaged.errors)")
      #expect(damaged.errors.contains("is damaged"), "\(damaged.errors)")
      try Data("x".utf8).write(to: URL(filePath: location.socket))
      for arguments in [["daemon", "start"], ["serve"]] {
        let result = try await fixture.work.haul(arguments, environment: fixture.environment)
        #expect(result.status != 0)
        #expect(result.errors.contains("is not a socket"), "\(result.errors)")
      }
      try FileManager.default.removeItem(atPath: location.socket)
    }
  }

  @Test
  func `cannot start with a wrong configuration: the command says so at once, with status 2`()
    async throws
  {
    try await DaemonFixture.with(CommandFixture.file()) { fixture in
      let directory = fixture.work.path("c/haul")
      try FileManager.default.createDirectory(
        atPath: directory, withIntermediateDirectories: true)
      try "lmit-rate = 3\n".write(
        toFile: "\(directory)/haul.conf", atomically: true, encoding: .utf8)
      let result = try await fixture.work.haul(
        ["daemon", "start"],
        environment: fixture.environment.merging(
          ["XDG_CONFIG_HOME": fixture.work.path("c")]) { $1 })
      #expect(result.status == 2)
      #expect(result.errors.contains("cannot start"), "\(result.errors)")
      let log = try String(
        contentsOfFile: try fixture.location().log, encoding: .utf8)
      #expect(log.split(separator: "\n").count == 1, "it was started once: \(log)")
    }
  }

  @Test
  func `keeps no directory busy, and takes paths from the directory of the command`() async throws {
    try await DaemonFixture.with(CommandFixture.file("/a")) { fixture in
      _ = try await fixture.add("/a", "-d", "sub")
      #expect(try await fixture.haul("wait", "--all").status == 0)
      try fixture.work.expectWhole("sub/a")
      let link = "/proc/\(try await fixture.pid())/cwd"
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "/")
    }
  }

  @Test func `writes no file among its own: its list, its token, its configuration`() async throws {
    try await DaemonFixture.with(CommandFixture.file("/a")) { fixture in
      let list = try fixture.location().list
      for options in [
        ["-o", "\(list)/queue.sqlite"], ["-d", list], ["-d", "\(list)/../new"],
        ["-o", "\(fixture.state)/haul/token"],
      ] {
        let result = try await fixture.work.haul(
          ["add", "-q", fixture.work.server.url("/a"), "--if-exists", "overwrite"] + options,
          environment: fixture.environment)
        #expect(result.status == 1)
        #expect(result.errors.contains("Haul's own files"), "\(result.errors)")
      }
      #expect(try await fixture.haul("list").output == "the list is empty\n")
    }
  }

  @Test(arguments: [true, false])
  func `starts through systemd where its unit is enabled`(isEnabled: Bool) async throws {
    try await CommandFixture.with([CommandFixture.file("/a")]) { (work) async throws in
      let log = work.path("systemctl.log")
      let program = """
        #!/bin/sh
        echo "$*" >>\(log)
        case $2 in
          is-enabled) exit \(isEnabled ? 0 : 1) ;;
          start) setsid "\(CommandRun.executable.path)" serve </dev/null >/dev/null 2>&1 & ;;
        esac
        """
      for directory in ["bin", "run/systemd"] {
        try FileManager.default.createDirectory(
          atPath: work.path(directory), withIntermediateDirectories: true)
      }
      let path = work.path("bin/systemctl")
      try program.write(toFile: path, atomically: true, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
      let environment = [
        "PATH": "\(work.path("bin")):/usr/bin:/bin", "XDG_RUNTIME_DIR": work.path("run"),
      ]
      let added = try await work.haul(["add", work.server.url("/a")], environment: environment)
      #expect(added.status == 0, "\(added.errors)")
      #expect(try await work.haul(["wait", "--all"], environment: environment).status == 0)
      #expect(try await work.haul(["daemon", "stop"], environment: environment).status == 0)
      let calls = try String(contentsOfFile: log, encoding: .utf8)
      #expect(calls.contains("--user is-enabled --quiet haul.service"))
      #expect(calls.contains("--user start haul.service") == isEnabled)
    }
  }

  @Test func `gives a file the permissions of the caller, not of the daemon`() async throws {
    try await DaemonFixture.with(CommandFixture.file()) { fixture in
      #expect(try await fixture.haul("daemon", "start").status == 0)
      let command =
        "umask 027; exec '\(CommandRun.executable.path)' add '\(fixture.work.server.url("/file.bin"))'"
      let run = try await CommandRun(
        ["-c", command], in: fixture.work.directory, environment: fixture.environment,
        program: "/bin/sh")
      #expect(await run.end().status == 0)
      #expect(try await fixture.haul("wait", "--all").status == 0)
      let attributes = try FileManager.default.attributesOfItem(
        atPath: fixture.work.path("file.bin"))
      #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o640)
    }
  }

  @Test func `runs a program when its download is completed`() async throws {
    try await DaemonFixture.with(CommandFixture.file()) { fixture in
      let id = try await fixture.add("/file.bin")
      let step = try await fixture.haul(
        "add", "--after", id, "--run", "--", "cp", "file.bin", "copy")
      #expect(step.status == 0, "\(step.errors)")
      #expect(try await fixture.haul("wait", "--all").status == 0)
      try fixture.work.expectWhole("copy")
    }
  }
}
