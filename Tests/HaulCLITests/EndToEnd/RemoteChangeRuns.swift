import Foundation
import HaulControl
import HaulCore
import HaulLibC
import HaulTesting
import Testing

/// What the page asks for before it adds, and changes afterwards, over TCP.
@Suite(.timeLimit(.minutes(10)))
struct RemoteChangeRuns {
  private func change(
    _ id: String, _ keys: String, _ remote: RemoteFixture
  ) throws -> SocketCall {
    try remote.call(
      "PATCH", "/api/v1/transfers/\(id)", remote.fields + ["Content-Type: application/json"],
      body: "{\(keys)}")
  }

  private func probe(_ keys: String, _ remote: RemoteFixture) throws -> SocketCall {
    try remote.call(
      "POST", "/api/v1/probe", remote.fields + ["Content-Type: application/json"],
      body: "{\(keys)}")
  }

  @Test func `header fields and groups of its own transfers, not of the owner's`() async throws {
    try await RemoteFixture.with { (remote) async throws in
      let fixture = remote.fixture
      let url = fixture.work.server.url("/a")
      #expect(try await fixture.haul("suspend").status == 0)
      let kept =
        #""url":"\#(url)","file":"\#(remote.root)/own","headers":[{"name":"X-Old","value":"kept"}]"#
      let own = try remote.id(of: try remote.add(kept))
      let owners = try await fixture.add("/a", "-o", "\(remote.root)/owners", "--group", "album")
      let token = #""headers":[{"name":"Authorization","value":"Bearer canary"}]"#
      for keys in [token, #""group":"mine""#] {
        #expect(try change(owners, keys, remote).status == 403, "\(keys)")
        let changed = try change(own, keys, remote)
        #expect(changed.status == 200, "\(changed.body)")
        #expect(!changed.body.contains("canary"))
      }
      #expect(try await fixture.state(of: own).group == "mine")
      let half = try change(own, #""url":"http://localhost:9/b","rate_limit":-1"#, remote)
      #expect(half.status == 422)
      #expect(try await fixture.state(of: own).url == url, "of a wrong change nothing is done")
      #expect(try change(own, #""group":"album""#, remote).status == 409, "the owner's")
      #expect(try change(own, #""group":"""#, remote).status == 200)
      #expect(try await fixture.state(of: own).group == nil)
      let listed = try remote.call("GET", "/api/v1/transfers", remote.fields).body
      let details = try remote.call("GET", "/api/v1/transfers/\(own)/details", remote.fields).body
      #expect(!listed.contains("canary") && !details.contains("canary"))
      #expect(try await fixture.haul("unsuspend").status == 0)
      #expect(try await fixture.haul("wait", "--all").status == 0)
      let sent = fixture.work.server.snapshot.requests.map(\.headers)
      #expect(sent.contains { $0["authorization"] == "Bearer canary" && $0["x-old"] == "kept" })
      #expect(sent.contains { $0["authorization"] == nil }, "the owner's")
    }
  }

  @Test func `a client changes again what it has set, until its owner sets something`() async throws
  {
    try await RemoteFixture.with { (remote) async throws in
      let fixture = remote.fixture
      #expect(try await fixture.haul("suspend").status == 0)
      let hex = SeededContent.sha256Hex(
        seed: CommandFixture.seed, length: CommandFixture.length)
      let id = try await fixture.add(
        "/a", "-o", "\(remote.root)/a", "--checksum", "sha-256=\(hex)")
      for token in ["first", "second"] {
        let keys = #""headers":[{"name":"Authorization","value":"Bearer \#(token)"}]"#
        let changed = try change(id, keys, remote)
        #expect(changed.status == 200, "\(token): \(changed.body)")
      }
      #expect(try await fixture.haul("set", id, "-H", "X-Own: canary").status == 0)
      let more = #""headers":[{"name":"X-Method","value":"DELETE"}]"#
      #expect(try change(id, more, remote).status == 403)
      #expect(try await fixture.haul("unsuspend").status == 0)
      #expect(try await fixture.haul("wait", id).status == 0)
      let sent = fixture.work.server.snapshot.requests.map(\.headers)
      #expect(sent.allSatisfy { $0["authorization"] == "Bearer second" && $0["x-own"] == "canary" })
    }
  }

  @Test func `what is added paused waits for a command`() async throws {
    try await RemoteFixture.with { (remote) async throws in
      let keys = #""url":"\#(remote.fixture.work.server.url("/a"))","file":"\#(remote.root)/a""#
      let id = try remote.id(of: try remote.add(keys, beside: #","paused":true"#))
      #expect(try await remote.fixture.state(of: id).state == .paused)
      #expect(remote.fixture.work.server.snapshot.requests.isEmpty)
      #expect(try await remote.fixture.haul("resume", id).status == 0)
      #expect(try await remote.fixture.haul("wait", id).status == 0)
    }
  }

  @Test func `a server is asked for the name and the length, and nothing is added`() async throws {
    try await RemoteFixture.with { (remote) async throws in
      let server = remote.fixture.work.server
      let fields = #","headers":[{"name":"X-Key","value":"canary"}]"#
      let answer = try probe(#""url":"\#(server.url("/a"))"\#(fields)"#, remote)
      #expect(answer.status == 200 && !answer.body.contains("canary"), "\(answer.body)")
      let found = try JSONDecoder().decode(ProbeDocument.self, from: Data(answer.body.utf8))
      #expect(found.name == "a" && found.size == CommandFixture.length && found.ranges)
      #expect(server.snapshot.requests.map { $0.headers["x-key"] } == ["canary"], "asked once")
      let missing = try probe(#""url":"\#(server.url("/missing"))""#, remote)
      #expect(missing.status == 502 && missing.body.contains("404"), "\(missing.body)")
      #expect(try probe(#""url":"http://127.0.0.1:1/x""#, remote).status == 502)
      #expect(try probe(#""url":"file:///etc/passwd""#, remote).status == 422)
      #expect(try probe(#""url":"\#(server.url("/a"))","file":"/x""#, remote).status == 400)
      let stranger = try remote.call(
        "POST", "/api/v1/probe",
        [remote.fields[0], "Content-Type: application/json"], body: #"{"url":"http://h/"}"#)
      #expect(stranger.status == 401)
      #expect(try await remote.fixture.haul("list", "--json").output.isEmpty)
    }
  }

  @Test func `a client that goes while its server is asked ends nothing else`() async throws {
    try await RemoteFixture.with { (remote) async throws in
      let server = remote.fixture.work.server
      server.setFaults("/a", [Fault(.cut(how: .stall, after: 0, in: .head))])
      let body = #"{"url":"\#(server.url("/a"))"}"#
      let lines =
        ["POST /api/v1/probe HTTP/1.1", "Content-Type: application/json"] + remote.fields
        + ["Content-Length: \(body.utf8.count)", "", body]
      for number in 1...4 {
        let client = try SocketCall.connection(to: .port(remote.port))
        try client.write(contentsOf: Data(lines.joined(separator: "\r\n").utf8))
        try await until { server.snapshot.requests.count == number }
        try client.close()
      }
      server.setFaults("/a", [])
      #expect(try probe(#""url":"\#(server.url("/a"))""#, remote).status == 200)
    }
  }

  @Test func `the room of a directory below the roots, also before it is made`() async throws {
    try await RemoteFixture.with { (remote) async throws in
      func space(_ path: String) throws -> SocketCall {
        try remote.call("GET", "/api/v1/space?directory=\(path)", remote.fields)
      }
      let outside = remote.fixture.work.path("outside")
      try FileManager.default.createDirectory(
        atPath: outside, withIntermediateDirectories: false)
      try FileManager.default.createSymbolicLink(
        atPath: "\(remote.root)/link", withDestinationPath: outside)
      for path in [remote.root, "\(remote.root)/new/and/newer/"] {
        let answer = try space(path)
        let found = try? JSONDecoder().decode(SpaceDocument.self, from: Data(answer.body.utf8))
        #expect((found?.free ?? 0) > 0, "\(answer.body)")
      }
      for path in ["/", outside, "\(remote.root)/../outside", "\(remote.root)/link"] {
        #expect(try space(path).status == 403, "\(path)")
      }
      #expect(try space("relative").status == 400)
    }
  }
}
