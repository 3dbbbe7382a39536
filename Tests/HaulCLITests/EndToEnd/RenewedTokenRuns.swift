import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// Tokens in files, which are renewed while transfers run or wait.
@Suite(.serialized, .timeLimit(.minutes(10))) struct RenewedTokenRuns {
  private static let count = 12

  private static func files() -> [FaultScript.Resource] {
    (0..<count).map { number in
      CommandFixture.file(
        "/d/\(number)", length: 1000,
        Fault(.status(401), when: .init(withoutText: "Bearer new-canary")))
    }
  }

  private func write(_ token: String, in work: CommandFixture, mode: Int = 0o600) throws {
    let path = work.path("token")
    try Data("\(token)\n".utf8).write(to: URL(filePath: path), options: .atomic)
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
  }

  private func list(_ work: CommandFixture) throws {
    let list = (0..<Self.count).map { work.server.url("/d/\($0)") }.joined(separator: "\n")
    try Data(list.utf8).write(to: URL(filePath: work.path("list")))
  }

  private func asked(_ work: CommandFixture) -> Int { work.server.snapshot.requests.count }

  @Test func `get ends soon, says how many were not tried, and the next token completes them`()
    async throws
  {
    try await CommandFixture.with(Self.files()) { work in
      try write("old-canary", in: work)
      try list(work)
      let command = [
        "get", "-i", "list", "-j", "1", "--bearer-file", "token", "--manifest", "done.jsonl",
      ]
      let dead = try await work.haul(command)
      #expect(dead.status == 1 && asked(work) == 3, "\(dead.errors)")
      let line = try #require(dead.errors.split(separator: "\n").first { $0.contains("not tried") })
      #expect(line.contains("\(Self.count - 3) files: not tried, because"), "\(dead.errors)")
      #expect(line.contains("--bearer-file"))
      #expect(!(dead.output + dead.errors).contains("canary"))
      let sum = try await work.haul(["manifest", "done.jsonl"])
      #expect(sum.output.contains("\(Self.count - 3)  not-tried"), "\(sum.output)")
      #expect(sum.output.contains("3  unauthorized"), "\(sum.output)")
      try write("new-canary", in: work)
      let renewed = try await work.haul(command)
      #expect(renewed.status == 0, "\(renewed.errors)")
      #expect(asked(work) == 3 + Self.count)
    }
  }

  @Test func `The daemon waits, and resumes with the next token of the file`() async throws {
    try await DaemonFixture.with(Self.files()) { fixture in
      let work = fixture.work
      try write("old-canary", in: work)
      try list(work)
      let added = try await fixture.haul(
        "add", "-i", "list", "--group", "night", "--bearer-file", "token")
      #expect(added.status == 0, "\(added.errors)")
      let ids = added.output.split(separator: "\n").map(String.init)
      let wait = try await fixture.haul("wait", "--group", "night")
      #expect(wait.status != 0, "\(wait.errors)")
      for id in ids {
        while try await fixture.state(of: id).waiting?.code != "credentials-refused" {}
      }
      let before = asked(work)
      #expect(before < Self.count, "the others were not tried")
      let explained = try await fixture.haul("explain", try #require(ids.last))
      #expect(explained.output.contains("the host refuses its credentials"), "\(explained.output)")
      #expect(explained.output.contains("haul set"))
      try write("new-canary", in: work)
      for id in ids { while try await fixture.state(of: id).state != .completed {} }
      let log = try await fixture.haul("log", "--last", "0")
      #expect(!log.output.contains("canary"))
    }
  }

  @Test func `wait goes on if the token was renewed just before it`() async throws {
    try await DaemonFixture.with(Self.files()) { fixture in
      try write("old-canary", in: fixture.work)
      try list(fixture.work)
      _ = try await fixture.haul(
        "add", "-i", "list", "--group", "night", "--bearer-file", "token")
      while try await fixture.haul("wait", "--group", "night").status != 3 {}
      try write("new-canary", in: fixture.work)
      let wait = try await fixture.haul("wait", "--group", "night")
      #expect(wait.status == 0, "\(wait.errors)")
    }
  }

  @Test func `A token of set replaces the file, and what waits goes at once`() async throws {
    try await DaemonFixture.with(Self.files()) { fixture in
      try write("old-canary", in: fixture.work)
      try list(fixture.work)
      _ = try await fixture.haul("add", "-i", "list", "--group", "night", "--bearer-file", "token")
      _ = try await fixture.haul("wait", "--group", "night")
      let set = try await fixture.haul(
        "set", "--group", "night", "-H", "Authorization: Bearer new-canary")
      #expect(set.status == 0, "\(set.errors)")
      #expect(try await fixture.haul("retry", "--group", "night").status == 0)
      #expect(try await fixture.haul("wait", "--group", "night").status == 0)
    }
  }

  @Test func `A file that others can read later gives no token, and the last one is sent`()
    async throws
  {
    try await DaemonFixture.with(Self.files()) { fixture in
      try write("new-canary", in: fixture.work)
      let id = try await fixture.add("/d/0", "--bearer-file", "token", "--at", "2100-01-01T12:00")
      try write("other-canary", in: fixture.work, mode: 0o644)
      #expect(try await fixture.haul("start", id).status == 0)
      #expect(try await fixture.haul("wait", id).status == 0)
    }
  }

  @Test func `Over TCP nobody names such a file`() async throws {
    try await RemoteFixture.with { (remote) async throws in
      let keys = #""url":"http://127.0.0.1:1/x","file":"\#(remote.root)/x""#
      let added = try remote.add(keys + #","bearer_file":"/etc/passwd""#)
      #expect(added.status == 403, "\(added.body)")
      let id = try remote.id(of: try remote.add(keys))
      let field = #""headers":[{"name":"Authorization","value":"Bearer x"}]"#
      let changed = try remote.call(
        "PATCH", "/api/v1/transfers/\(id)", remote.fields + ["Content-Type: application/json"],
        body: #"{\#(field),"bearer_file":"/etc/passwd"}"#)
      #expect(changed.status == 403, "\(changed.body)")
    }
  }
}
