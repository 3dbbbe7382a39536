import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// haul.conf is read again while the daemon runs.
@Suite(.timeLimit(.minutes(10)))
struct ReloadRuns {
  private static let path = ".config/haul/haul.conf"
  private static let words = "haul.conf has changed"

  private func limits(_ fixture: DaemonFixture) async throws -> LimitsDocument {
    try await ControlClient.with(try fixture.location()) { try await $0.limits() }
  }

  @Test func `reload applies limits and schedule, and the daemon no longer says that it changed`()
    async throws
  {
    try await DaemonFixture.with { (fixture) async throws in
      #expect(try await fixture.haul("daemon", "reload").status == 1, "it does not run")
      #expect(try await fixture.haul("daemon", "start").status == 0)
      let pid = try await fixture.pid()
      try fixture.write(
        "limit-rate = 2M\nschedule = daily 01:00-05:00\nlisten = 127.0.0.1:0\n", to: Self.path)
      #expect(try await fixture.haul("daemon", "status").output.contains(Self.words))
      let reload = try await fixture.haul("daemon", "reload")
      #expect(reload.status == 0, "\(reload.errors)")
      #expect(reload.output.contains("changed: limit-rate, schedule"), "\(reload.output)")
      #expect(reload.output.contains("after haul daemon restart only: listen"))
      let now = try await limits(fixture)
      #expect(now.rate == 2 << 20 && now.schedule?.first?.from == "01:00")
      let status = try await fixture.haul("daemon", "status").output
      #expect(!status.contains(Self.words), "\(status)")
      #expect(status.contains("haul.conf changes: listen"), "\(status)")
      #expect(try await fixture.pid() == pid)
    }
  }

  @Test func `a wrong file is refused with its line, and changes nothing`() async throws {
    try await DaemonFixture.with { (fixture) async throws in
      try fixture.write("limit-rate = 2M\n", to: Self.path)
      #expect(try await fixture.haul("daemon", "start").status == 0)
      try fixture.write("limit-rate = 3M\nschedule = at night\n", to: Self.path)
      let reload = try await fixture.haul("daemon", "reload")
      #expect(reload.status == 1)
      #expect(reload.errors.contains("haul.conf: line 2: schedule: "), "\(reload.errors)")
      // What counts for dropped lists, too.
      try fixture.write("limit-rate = 3M\nrule = foo\n", to: Self.path)
      let rule = try await fixture.haul("daemon", "reload")
      #expect(rule.status == 1 && rule.errors.contains("rule"), "\(rule.errors)")
      #expect(try await limits(fixture).rate == 2 << 20)
      #expect(try await fixture.haul("daemon", "status").output.contains(Self.words))
    }
  }

  @Test func `limits that are set before there is a daemon start it, as add does`() async throws {
    try await DaemonFixture.with { (fixture) async throws in
      #expect(try await fixture.haul("limits").status == 1, "nothing is changed")
      let set = try await fixture.haul("limits", "--limit-rate", "1M")
      #expect(set.status == 0 && set.errors.contains("started the daemon"), "\(set.errors)")
      #expect(try await limits(fixture).rate == 1 << 20)
      let none = try await fixture.haul("limits", "--limit-rate", "0")
      #expect(none.status == 0 && !none.errors.contains("started"), "\(none.errors)")
      #expect(try await limits(fixture).rate == 0)
    }
  }

  @Test func `what haul limits has set stays above the file, and is named`() async throws {
    try await DaemonFixture.with { (fixture) async throws in
      #expect(try await fixture.haul("daemon", "start").status == 0)
      #expect(try await fixture.haul("limits", "--limit-rate", "1M").status == 0)
      try fixture.write("limit-rate = 2M\nmax-active = 3\n", to: Self.path)
      let reload = try await fixture.haul("daemon", "reload")
      #expect(reload.output.contains("haul limits has set limit-rate"), "\(reload.output)")
      var now = try await limits(fixture)
      #expect(now.rate == 1 << 20 && now.active == 3)
      #expect(try await fixture.haul("limits", "--reset").status == 0)
      now = try await limits(fixture)
      #expect(now.rate == 2 << 20 && now.active == 3)
    }
  }

  @Test func `SIGHUP is a reload, of the certificate too; a wrong file is logged`() async throws {
    try await DaemonFixture.with { (fixture) async throws in
      let (first, second) = (
        try CertificateAuthority().client(), try CertificateAuthority().client()
      )
      try fixture.write(first)
      let serving = try await fixture.serve(["--listen", "127.0.0.1:0"] + fixture.pairOptions)
      try fixture.write("max-active = 3\n", to: Self.path)
      try fixture.write(second)
      serving.send(SIGHUP)
      try await serving.reach("it was read") { _, errors in
        errors.contains("changed: max-active")
          && errors.contains("the certificate was read again")
      }
      #expect(try await limits(fixture).active == 3)
      try fixture.write("max-active = many\n", to: Self.path)
      serving.send(SIGHUP)
      try await serving.reach("it was refused") { _, errors in
        errors.contains("haul.conf: line 1: max-active")
      }
      #expect(try await limits(fixture).active == 3)
    }
  }

  @Test func `notices go to the new place after a reload`() async throws {
    try await DaemonFixture.with(CommandFixture.file("/a"), CommandFixture.file("/b")) {
      (fixture) async throws in
      let log = fixture.work.path("log")
      try fixture.write(
        "#!/bin/sh\necho \"$1 $HAUL_STATE $HAUL_NAME\" >>'\(log)'\n", to: "tell", permissions: 0o755
      )
      let line = "notify-command = \(fixture.work.path("tell"))\nnotify-command = "
      try fixture.write(line + "old\n", to: Self.path)
      #expect(try await fixture.haul("daemon", "start").status == 0)
      func lines() -> String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }
      _ = try await fixture.add("/a")
      try await until { lines().contains("old completed a\n") }
      try fixture.write(line + "new\n", to: Self.path)
      #expect(try await fixture.haul("daemon", "reload").status == 0)
      _ = try await fixture.add("/b")
      try await until { lines().contains("new completed b\n") }
      #expect(!lines().contains("old completed b"))
    }
  }

  @Test func `the log says when a window of the schedule opens and closes`() async throws {
    try await DaemonFixture.with { (fixture) async throws in
      #expect(try await fixture.haul("daemon", "start").status == 0)
      let log = try fixture.location().log
      func lines(with part: String) -> Int {
        let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").count { $0.contains(part) }
      }
      let names = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
      let today = Calendar.current.component(.weekday, from: Date()) - 1
      let closed = try await fixture.haul("limits", "--schedule", "\(names[(today + 3) % 7]) 9-17")
      #expect(closed.status == 0, "\(closed.errors)")
      try await until { lines(with: "outside the schedule until") == 1 }
      #expect(try await fixture.haul("limits", "--schedule", "always").status == 0)
      try await until { lines(with: "a window of the schedule is open") == 1 }
      #expect(lines(with: "outside the schedule until") == 1)
      // The log of the queue has them too, and says who has changed them.
      try await until {
        let log = try await fixture.haul("log").output
        return log.contains("transfers wait (as haul limits says)")
          && log.contains("transfers run (as haul limits says)")
      }
    }
  }

  @Test func `a file that has vanished counts as an empty one, and the answer says so`()
    async throws
  {
    try await DaemonFixture.with { (fixture) async throws in
      try fixture.write("limit-rate = 2M\n", to: Self.path)
      #expect(try await fixture.haul("daemon", "start").status == 0)
      try FileManager.default.removeItem(atPath: fixture.work.path(Self.path))
      let reload = try await fixture.haul("daemon", "reload")
      #expect(reload.status == 0, "\(reload.errors)")
      #expect(
        reload.output
          == "there is no haul.conf, which counts as an empty one; changed: limit-rate\n")
    }
  }

  @Test func `a watch directory that the file names is used after a reload`() async throws {
    try await DaemonFixture.with(CommandFixture.file("/a")) { (fixture) async throws in
      let folder = fixture.work.path("lists")
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      let serving = try await fixture.serve("--root", fixture.work.path("target"))
      try fixture.write("\(fixture.work.server.url("/a"))\n", to: "lists/list")
      try fixture.write("watch = \(folder)\n", to: Self.path)
      serving.send(SIGHUP)
      try await until { FileManager.default.fileExists(atPath: "\(folder)/done/list") }
    }
  }
}
