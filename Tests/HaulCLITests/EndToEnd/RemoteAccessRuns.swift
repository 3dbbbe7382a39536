import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// The control interface over TCP, of a real daemon.
@Suite(.timeLimit(.minutes(10)))
struct RemoteAccessRuns {
  static let paths: [(method: String, path: String)] = [
    ("GET", "/api/v1/status"), ("GET", "/api/v1/transfers"), ("GET", "/api/v1/events"),
    ("GET", "/api/v1/transfers/ZZZZZZZZ"), ("GET", "/api/v1/queue"), ("GET", "/nothing"),
    ("GET", "/metrics"), ("GET", "/api/v1/openapi.yaml"), ("GET", "/api/v1/schema/events.json"),
    ("POST", "/api/v1/transfers"), ("POST", "/api/v1/commands"), ("POST", "/api/v1/wait"),
    ("POST", "/api/v1/shutdown"), ("PATCH", "/api/v1/queue"), ("OPTIONS", "/api/v1/transfers"),
    ("PATCH", "/api/v1/transfers/ZZZZZZZZ"), ("PATCH", "/api/v1/transfers"),
    ("GET", "/api/v1/notices"),
    ("PATCH", "/api/v1/notices"),
  ]

  @Test func `nothing is answered without the token, to another Host, or to a page`() async throws {
    try await RemoteFixture.with { (remote) async throws in
      let host = "Host: 127.0.0.1:\(remote.port)"
      let wrong = String(remote.token.reversed())
      let cases: [(fields: [String], status: Int)] = [
        ([host], 401), ([host, "Authorization: Bearer \(wrong)"], 401),
        ([host, "Authorization: Bearer"], 401),
        ([host, "Authorization: Basic \(remote.token)"], 401),
        ([host, "Authorization: Bearer \(remote.token)x"], 401),
        (["Host: evil.example:\(remote.port)"] + remote.fields.suffix(1), 421),
        (["Host: localhost"] + remote.fields.suffix(1), 421),
        (remote.fields.suffix(1), 400), ([host] + remote.fields, 400),
        (["Host: evil.example"] + remote.fields, 400),
        (remote.fields + ["Origin: http://evil.example"], 403),
        (remote.fields + ["Origin: null"], 403),
        (remote.fields + ["Sec-Fetch-Site: cross-site"], 403),
        (remote.fields + ["Sec-Fetch-Site: same-site"], 403),
      ]
      for (method, path) in Self.paths {
        for (fields, status) in cases {
          let call = try remote.call(method, path, fields)
          #expect(call.status == status, "\(method) \(path) \(fields)")
          #expect(!call.head.lowercased().contains("access-control-"))
          #expect(!call.body.contains(remote.token))
        }
        let other = try remote.call(method, "http://evil.example\(path)", remote.fields)
        #expect(other.status == 400, "\(method) \(path) at another host")
        let query = try remote.call(method, "\(path)?token=\(remote.token)", [host])
        #expect(query.status == 401, "a token in the address")
      }
      for path in ["status", "notices"] {
        for address in ["", "http://127.0.0.1:\(remote.port)"] {
          let call = try remote.call("GET", "\(address)/api/v1/\(path)", remote.fields)
          #expect(call.status == 200)
        }
      }
    }
  }

  @Test func `an address with an empty part is not another address`() async throws {
    try await RemoteFixture.with { (remote) async throws in
      for path in [
        "/api/v1/transfers/", "/api/v1//transfers", "//api/v1/transfers",
        "/api/v1/transfers//details", "/api/v1/status/",
      ] {
        #expect(try remote.call("GET", path, remote.fields).status == 404, "\(path)")
      }
      #expect(try remote.call("GET", "/api/v1/transfers", remote.fields).status == 200)
    }
  }

  @Test
  func `programs are refused, and files outside the directory, also through links`() async throws {
    try await RemoteFixture.with { (remote) async throws in
      let url = remote.fixture.work.server.url("/a")
      let outside = remote.fixture.work.path("outside")
      for path in [outside, "\(remote.root)/sub"] {
        try FileManager.default.createDirectory(
          atPath: path, withIntermediateDirectories: false)
      }
      for (link, target) in [("out", outside), ("dead", "\(outside)/nothing")] {
        try FileManager.default.createSymbolicLink(
          atPath: "\(remote.root)/\(link)", withDestinationPath: target)
      }
      let forbidden = [
        #""run":["true"]"#, #""run":["true"],"working_directory":"\#(remote.root)""#,
        #""url":"\#(url)","directory":"\#(remote.root)","working_directory":"/""#,
        #""url":"\#(url)","file":"\#(outside)/a""#, #""url":"\#(url)","directory":"/""#,
        #""url":"\#(url)","file":"\#(remote.root)x""#,
        #""url":"\#(url)","file":"\#(remote.root)/../a""#,
        #""url":"\#(url)","file":"\#(remote.root)/missing/../../a""#,
        #""url":"\#(url)","file":"\#(remote.root)/out/a""#,
        #""url":"\#(url)","file":"\#(remote.root)/out/new/a","creates_directories":true"#,
        #""url":"\#(url)","file":"\#(remote.root)/dead""#,
        #""url":"\#(url)","directory":"\#(remote.root)/out""#,
      ]
      for keys in forbidden { #expect(try remote.add(keys).status == 403, "\(keys)") }
      #expect(try FileManager.default.contentsOfDirectory(atPath: outside).isEmpty)
      #expect(try remote.add(#""url":"\#(url)","file":"\#(remote.root)/sub/a""#).status == 201)
      #expect(
        try remote.add(
          #""url":"\#(url)","file":"\#(remote.root)/new/b","creates_directories":true"#
        ).status == 201)
      #expect(try await remote.fixture.haul("wait", "--all").status == 0)
      try remote.fixture.work.expectWhole("root/sub/a")
      try remote.fixture.work.expectWhole("root/new/b")
    }
  }

  @Test
  func `only files below the directory are sent, not through links, and not again`() async throws {
    try await RemoteFixture.with { (remote) async throws in
      let fixture = remote.fixture
      let url = fixture.work.server.url("/a")
      let outside = fixture.work.path("secret")
      try Data("secret".utf8).write(to: URL(filePath: outside))
      try Data("file".utf8).write(to: URL(filePath: "\(remote.root)/mine"))
      try FileManager.default.createSymbolicLink(
        atPath: "\(remote.root)/out", withDestinationPath: outside)
      let own = try fixture.location().token
      for path in [outside, "\(remote.root)/out", "\(remote.root)/../secret", own] {
        let call = try remote.add(#""url":"\#(url)","put":"\#(path)""#)
        #expect(call.status == 403, "\(path)")
      }
      #expect(try remote.add(#""url":"\#(url)","put":"\#(remote.root)/mine""#).status == 201)
      let added = try await fixture.haul("add", "--put", outside, url)
      let id = added.output.trimmingCharacters(in: .newlines)
      #expect(try await fixture.haul("wait", "--all").status == 0)
      let json = remote.fields + ["Content-Type: application/json"]
      let restart = try remote.call(
        "POST", "/api/v1/commands", json,
        body: #"{"command":"restart","transfers":{"ids":["\#(id)"]}}"#)
      #expect(restart.status == 403)
      let move = try remote.call(
        "PATCH", "/api/v1/transfers/\(id)", json, body: #"{"url":"http://localhost:9/a"}"#)
      #expect(move.status == 403)
      let bodies = fixture.work.server.snapshot.requests.filter { $0.method != "HEAD" }
        .map { String(decoding: $0.body, as: UTF8.self) }
      #expect(bodies.sorted() == ["file", "secret"])
    }
  }

  @Test
  func `a form and an upload to S3 have only files below the directory, and keep their server`()
    async throws
  {
    try await RemoteFixture.with { (remote) async throws in
      let fixture = remote.fixture
      let url = fixture.work.server.url("/a")
      let store = url.replacing("://", with: "://id:key@")
      let outside = fixture.work.path("secret")
      let mine = "\(remote.root)/mine"
      for path in [outside, mine] { try Data("file".utf8).write(to: URL(filePath: path)) }
      for path in [outside, "\(remote.root)/../secret", try fixture.location().token] {
        let parts = #"{"name":"a","file":"\#(mine)"},{"name":"b","file":"\#(path)"}"#
        #expect(try remote.add(#""url":"\#(url)","form":[\#(parts)]"#).status == 403)
        let object = #""url":"\#(store)","put":"\#(path)","method":"s3""#
        #expect(try remote.add(object).status == 403)
      }
      let form = #""url":"\#(url)","form":[{"name":"a","file":"\#(mine)"}]"#
      #expect(try remote.add(form).status == 201)
      #expect(try remote.add(#""url":"\#(store)","put":"\#(mine)","method":"s3""#).status == 201)
      #expect(try await fixture.haul("wait", "--all").status == 0)

      #expect(try await fixture.haul("suspend").status == 0)
      func status(of arguments: String...) async throws -> Int {
        let added = try await fixture.work.haul(
          ["add", "--field", "n=v", "--form", "a=@\(mine)"] + arguments + [url],
          environment: fixture.environment)
        let id = added.output.trimmingCharacters(in: .newlines)
        return try remote.call(
          "PATCH", "/api/v1/transfers/\(id)", remote.fields + ["Content-Type: application/json"],
          body: #"{"url":"http://localhost:9/a"}"#
        ).status
      }
      #expect(try await status(of: "--priority", "utility") == 403, "its text may be a secret")
      #expect(try await status(of: "--form", "b=@\(outside)") == 403)
    }
  }

  @Test
  func `no other server gets the header fields, or writes the files, of a transfer of the socket`()
    async throws
  {
    try await RemoteFixture.with { (remote) async throws in
      let fixture = remote.fixture
      #expect(try await fixture.haul("suspend").status == 0)
      let outside = try await fixture.add("/a", "-o", fixture.work.path("x"))
      let secret = try await fixture.add("/a", "-o", "\(remote.root)/y", "-H", "X-Key: canary")
      let plain = try await fixture.add("/a", "-o", "\(remote.root)/z")
      func status(_ id: String) throws -> Int {
        try remote.call(
          "PATCH", "/api/v1/transfers/\(id)", remote.fields + ["Content-Type: application/json"],
          body: #"{"url":"http://localhost:9/a"}"#
        ).status
      }
      #expect(try status(outside) == 403)
      #expect(try status(secret) == 403)
      #expect(try status(plain) == 403, "no checksum proves that it is the same file")
      #expect(try await fixture.state(of: secret).url?.contains("localhost:9") == false)
      #expect(try await fixture.haul("set", secret, "--url", "http://localhost:9/a").status == 0)
    }
  }

  @Test
  func `no command runs a program again, or deletes files outside the directory`() async throws {
    try await RemoteFixture.with { (remote) async throws in
      let fixture = remote.fixture
      let mark = fixture.work.path("ran")
      let added = try await fixture.haul("add", "--run", "--", "sh", "-c", "echo x >> '\(mark)'")
      let program = added.output.trimmingCharacters(in: .newlines)
      #expect(try await fixture.haul("wait", program).status == 0)
      let failing = try await fixture.haul(
        "add", "--run", "--", "sh", "-c", "echo x >> '\(mark)'; false")
      let failed = failing.output.trimmingCharacters(in: .newlines)
      #expect(try await fixture.haul("wait", failed).status == 1)
      #expect(try await fixture.haul("suspend").status == 0)
      let outside = try await fixture.add("/a", "-o", fixture.work.path("x"))
      let inside = try await fixture.add("/a", "-o", "\(remote.root)/y")
      func status(_ command: String, _ id: String, _ more: String = "") throws -> Int {
        try remote.call(
          "POST", "/api/v1/commands", remote.fields + ["Content-Type: application/json"],
          body: #"{"command":"\#(command)","transfers":{"ids":["\#(id)"]}\#(more)}"#
        ).status
      }
      #expect(try status("restart", program) == 403)
      #expect(try status("restart", failed) == 403)
      #expect(try status("retry", failed) == 403)
      #expect(try status("cancel", outside) == 403)
      #expect(try status("remove", outside) == 403)
      #expect(try status("restart", outside) == 403)
      #expect(try await fixture.state(of: outside).state == .queued)
      #expect(try status("pause", outside) == 200)
      #expect(try status("cancel", outside, #","keep_part":true"#) == 200)
      #expect(try status("remove", outside) == 200, "nothing is deleted")
      #expect(try status("restart", inside) == 200)
      #expect(try status("cancel", inside) == 200)
      #expect(try status("remove", program) == 200)
      #expect(try String(contentsOfFile: mark, encoding: .utf8) == "x\nx\n")
    }
  }

  @Test
  func `a token that others can read is refused, and one that is there is kept`() async throws {
    try await RemoteFixture.with { (remote) async throws in
      let path = try remote.fixture.location().token
      #expect(try await remote.fixture.haul("daemon", "stop").status == 0)
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
      let result = try await remote.fixture.haul("serve", "--listen", "127.0.0.1:0")
      #expect(result.status == 1)
      #expect(result.errors.contains("chmod 600"), "\(result.errors)")
      #expect(
        try String(contentsOfFile: path, encoding: .utf8).contains(remote.token), "still there")
    }
  }

  @Test func `only loopback addresses are accepted`() async throws {
    try await DaemonFixture.with { (fixture) async throws in
      for address in ["0.0.0.0:1", "192.0.2.1:80", "127.0.0.1", ":80", "127.0.0.1:x", "[::]:0"] {
        let result = try await fixture.haul("serve", "--listen", address)
        #expect(result.status == 2, "\(address)")
      }
      #expect(
        try await fixture.haul("serve", "--listen", "127.0.0.1:0", "--root", "here").status == 2)
    }
  }
}
