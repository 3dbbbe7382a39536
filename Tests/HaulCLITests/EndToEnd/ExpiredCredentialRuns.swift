import Foundation
import HaulControl
import HaulTesting
import Testing

/// Tokens that expire while transfers wait in the list.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ExpiredCredentialRuns {
  /// Two transfers of a group that have failed because of their token.
  private func withExpired(
    _ body: (DaemonFixture, _ ids: [String]) async throws -> Void
  ) async throws {
    let refused = Fault(.status(401))
    try await DaemonFixture.with(
      CommandFixture.file("/a", refused), CommandFixture.file("/b", refused)
    ) { fixture in
      for (name, text) in [("old", "old-canary"), ("new", "new-canary")] {
        try Data(text.utf8).write(to: URL(filePath: fixture.work.path(name)))
        try FileManager.default.setAttributes(
          [.posixPermissions: 0o600], ofItemAtPath: fixture.work.path(name))
      }
      var ids: [String] = []
      for path in ["/a", "/b"] {
        ids.append(
          try await fixture.add(path, "--group", "night", "--bearer-file", "old", "-H", "X-Keep: 1")
        )
      }
      _ = try await fixture.haul("wait", "--group", "night")
      for path in ["/a", "/b"] { fixture.work.server.setFaults(path, []) }
      try await body(fixture, ids)
    }
  }

  private func fields(_ fixture: DaemonFixture, _ path: String) throws -> [String?] {
    let request = try #require(fixture.work.server.snapshot.requests.last { $0.path == path })
    return [request.header("Authorization"), request.header("X-Keep")]
  }

  @Test func `set gives a group another token, and the other fields stay`() async throws {
    try await withExpired { fixture, _ in
      let set = try await fixture.haul("set", "--group", "night", "--bearer-file", "new")
      #expect(set.status == 0 && !(set.output + set.errors).contains("canary"), "\(set.errors)")
      #expect(try await fixture.haul("retry", "--group", "night").status == 0)
      #expect(try await fixture.haul("wait", "--group", "night").status == 0)
      for path in ["/a", "/b"] {
        #expect(try fields(fixture, path) == ["Bearer new-canary", "1"])
      }
    }
  }

  @Test func `retry takes the token too`() async throws {
    try await withExpired { fixture, ids in
      let retry = try await fixture.haul("retry", ids[0], "--bearer-file", "new")
      #expect(retry.status == 0, "\(retry.errors)")
      #expect(try await fixture.haul("wait", ids[0]).status == 0)
      #expect(try fields(fixture, "/a") == ["Bearer new-canary", "1"])
    }
  }

  @Test(
    arguments: [
      (["--bearer-env", "NEW_TOKEN"], "Bearer of-variable", nil),
      (["--user", "me"], "Basic bWU6cGFzcw==", nil),
      (["--cookie-file", "jar"], "Bearer old-canary", "id=v"),
    ] as [([String], String, String?)])
  func `retry of a group takes what get takes`(
    words: [String], authorization: String, cookie: String?
  ) async throws {
    try await withExpired { fixture, _ in
      try Data("127.0.0.1\tFALSE\t/\tFALSE\t0\tid\tv\n".utf8)
        .write(to: URL(filePath: fixture.work.path("jar")))
      let secrets = ["NEW_TOKEN": "of-variable", "HAUL_PASSWORD": "pass"]
      let retry = try await fixture.work.haul(
        ["retry", "--group", "night"] + words,
        environment: fixture.environment.merging(secrets) { $1 })
      #expect(retry.status == 0, "\(retry.errors)")
      #expect(try await fixture.haul("wait", "--group", "night").status == 0)
      for path in ["/a", "/b"] {
        #expect(try fields(fixture, path) == [authorization, "1"])
        let last = fixture.work.server.snapshot.requests.last { $0.path == path }
        #expect(last?.header("Cookie") == cookie)
      }
    }
  }

  @Test func `A token does not go to the other servers of a group`() async throws {
    try await withExpired { fixture, _ in
      let server = fixture.work.server
      let other = server.url("/b").replacing("127.0.0.1", with: "localhost")
      let added = try await fixture.haul(
        "add", other, "-o", "c", "--group", "night", "--at", "2100-01-01T12:00")
      let id = added.output.trimmingCharacters(in: .newlines)
      let refused = try await fixture.haul("set", "--group", "night", "--bearer-file", "new")
      #expect(refused.status == 2 && refused.errors.contains("--host HOST"), "\(refused.errors)")
      let set = try await fixture.haul(
        "set", "--group", "night", "--bearer-file", "new", "--host", "127.0.0.1")
      #expect(set.status == 0, "\(set.errors)")
      #expect(try await fixture.haul("set", id, "--at", "now").status == 0)
      _ = try await fixture.haul("wait", id)
      #expect(try fields(fixture, "/b") == [nil, nil], "the other one is asked without")
    }
  }
}
