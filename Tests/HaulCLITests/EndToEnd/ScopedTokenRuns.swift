import Foundation
import HaulControl
import HaulTesting
import Testing

/// Tokens with a scope, at a real daemon.
@Suite(.timeLimit(.minutes(10)))
struct ScopedTokenRuns {
  private func add(_ name: String, _ scope: String, _ remote: RemoteFixture) async throws -> String
  {
    let result = try await remote.fixture.haul("token", "add", name, "--scope", scope)
    #expect(result.status == 0, "\(result.errors)")
    return result.output.trimmingCharacters(in: .newlines)
  }

  private func fields(_ token: String, _ remote: RemoteFixture) -> [String] {
    ["Host: 127.0.0.1:\(remote.port)", "Authorization: Bearer \(token)"]
  }

  @Test func `each allows what its scope says, at once, until it is removed`() async throws {
    try await RemoteFixture.with { (remote) async throws in
      let read = fields(try await add("script", "read", remote), remote)
      let metrics = fields(try await add("prometheus", "metrics", remote), remote)
      let control = fields(try await add("control", "control", remote), remote)
      for (method, path) in RemoteAccessRuns.paths {
        if path == "/api/v1/shutdown" || path == "/api/v1/events" { continue }
        let status = try remote.call(method, path, read).status
        #expect((status == 403) == (method != "GET"), "\(method) \(path)")
        #expect(status != 401)
        let numbers = try remote.call(method, path, metrics).status
        #expect(numbers == (path == "/metrics" ? 200 : 403), "\(method) \(path)")
        let all = try remote.call(method, path, control).status
        #expect(![401, 403].contains(all), "\(method) \(path)")
      }
      #expect(try remote.call("POST", "/api/v1/shutdown", read).status == 403)
      #expect(try remote.call("GET", "/api/v1/events", metrics).status == 403)
      for scoped in [read, metrics, control] {
        #expect(try remote.call("GET", "/api/v1/session", scoped).status == 403)
        #expect(try remote.call("GET", "/api/v1/sessions", scoped).status == 403)
        #expect(try remote.call("DELETE", "/api/v1/sessions/x", scoped).status == 403)
        #expect(
          try remote.call("GET", "/api/v1/status", ["Host: evil.test"] + scoped.suffix(1)).status
            == 421)
      }
      let body = #"{"transfers":[{"url":"http://127.0.0.1:9/a","directory":"\#(remote.root)"}]}"#
      let json = ["Content-Type: application/json"]
      #expect(
        try remote.call("POST", "/api/v1/transfers", read + json, body: body).status == 403)
      #expect(
        try remote.call("POST", "/api/v1/transfers", control + json, body: body).status == 201)
      #expect(try await remote.fixture.haul("token", "remove", "script").status == 0)
      #expect(try remote.call("GET", "/api/v1/status", read).status == 401)
      #expect(try remote.call("GET", "/metrics", metrics).status == 200)
    }
  }

  @Test func `the events end with the token, also while nothing happens`() async throws {
    try await RemoteFixture.with { (remote) async throws in
      for (name, scope) in [("script", "read"), ("page", "control")] {
        let token = try await add(name, scope, remote)
        let stream = try SocketCall.begin(
          "/api/v1/events", until: "event: ready", fields(token, remote), at: .port(remote.port))
        let other = try SocketCall.begin(
          "/api/v1/events", until: "event: ready", remote.fields, at: .port(remote.port))
        #expect(try await remote.fixture.haul("token", "remove", name).status == 0)
        let rest = String(decoding: try stream.readToEnd() ?? Data(), as: UTF8.self)
        #expect(!rest.contains("event: event"), "\(rest)")
        #expect(try remote.call("GET", "/api/v1/status", remote.fields).status == 200)
        try other.close()
      }
    }
  }

  @Test func `no event is sent after the token was removed`() async throws {
    try await RemoteFixture.with { (remote) async throws in
      let read = fields(try await add("script", "read", remote), remote)
      let stream = try SocketCall.begin(
        "/api/v1/events", until: "event: ready", read, at: .port(remote.port))
      #expect(try await remote.fixture.haul("token", "remove", "script").status == 0)
      #expect(try await remote.fixture.haul("add", "http://127.0.0.1:9/canary", "-q").status == 0)
      let rest = String(decoding: try stream.readToEnd() ?? Data(), as: UTF8.self)
      #expect(!rest.contains("canary"), "\(rest)")
    }
  }

  @Test func `a token is shown once, and its name is listed`() async throws {
    try await RemoteFixture.with { (remote) async throws in
      let token = try await add("script", "read", remote)
      let list = try await remote.fixture.haul("token", "list")
      #expect(list.output.contains("script") && list.output.contains("read"))
      let file = try String(
        contentsOfFile: try remote.fixture.location().access, encoding: .utf8)
      for text in [list.output, file] {
        #expect(!text.contains(token.dropFirst(5)), "\(text)")
      }
      for wrong in [
        ["token", "add", "x"], ["token", "add", "--scope", "read"], ["token", "list", "x"],
        ["token", "add", "a b", "--scope", "read"], ["token", "add", "x", "--scope", "all"],
        ["token", "remove"], ["token", "remove", "x", "--scope", "read"],
      ] {
        let result = try await remote.fixture.work.haul(
          wrong, environment: remote.fixture.environment)
        #expect(result.status == 2, "\(wrong)")
      }
      #expect(try await remote.fixture.haul("token", "remove", "y").status == 1)
      #expect(
        try await remote.fixture.haul("token", "add", "script", "--scope", "read").status == 1)
    }
  }
}
