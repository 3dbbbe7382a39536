import Foundation
import HaulControl
import HaulTesting
import Testing

/// What `GET /api/v1/files` lists, over the socket and over TCP.
@Suite(.timeLimit(.minutes(10)))
struct DirectoryListingRuns {
  private static func query(_ path: String) -> String {
    let allowed = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "/"))
    return "/api/v1/files?directory="
      + (path.addingPercentEncoding(withAllowedCharacters: allowed) ?? "")
  }

  private func document(_ call: SocketCall) throws -> DirectoryDocument {
    #expect(call.status == 200, "\(call.body)")
    return try JSONDecoder().decode(DirectoryDocument.self, from: Data(call.body.utf8))
  }

  /// A daemon that is called over TCP, with the token.
  private struct Remote {
    /// It ends with this.
    let run: CommandRun
    let port: Int
    let fields: [String]

    func list(_ path: String) throws -> SocketCall {
      try SocketCall("GET", DirectoryListingRuns.query(path), fields, at: .port(port))
    }
  }

  private func remote(_ fixture: DaemonFixture, root: String?) async throws -> Remote {
    let run =
      if let root {
        try await fixture.serve("--listen", "127.0.0.1:0", "--root", root)
      } else {
        try await fixture.serve("--listen", "127.0.0.1:0")
      }
    try await run.reach("it listened") { _, errors in errors.contains("of 127.0.0.1") }
    let port = try #require(run.firstError(matching: /listening on port (\d+)/).flatMap { Int($0) })
    let token = try String(contentsOfFile: try fixture.location().token, encoding: .utf8)
    let fields = [
      "Host: 127.0.0.1:\(port)", "Authorization: Bearer \(token.trimmingCharacters(in: .newlines))",
    ]
    return Remote(run: run, port: port, fields: fields)
  }

  @Test
  func `over TCP only what is below the roots is listed, also by dots and links, and no own files`()
    async throws
  {
    try await DaemonFixture.with { (fixture) async throws in
      let (root, outside) = (fixture.work.path("root"), fixture.work.path("outside"))
      for path in [root, outside, "\(root)/sub", "\(outside)/secrets"] {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      }
      for path in ["\(root)/a b+c.txt", "\(root)/sub/x", "\(outside)/hidden"] {
        try Data("12345".utf8).write(to: URL(filePath: path))
      }
      let own = "\(fixture.state)/haul"
      let links = [
        ("out", outside), ("file", "\(outside)/hidden"), ("inner", "\(root)/sub"),
        ("dead", "\(outside)/nothing"), ("mine", "\(root)/sub/x"), ("own", own),
      ]
      for (link, target) in links {
        try FileManager.default.createSymbolicLink(
          atPath: "\(root)/\(link)", withDestinationPath: target)
      }
      #expect(mkfifo("\(root)/pipe", 0o600) == 0)
      let remote = try await remote(fixture, root: root)

      let top = try document(try remote.list(root + "/"))
      #expect(top.directory == root && top.parent == nil && !top.hasMore)
      #expect(top.entries.map(\.name) == ["a b+c.txt", "inner", "mine", "sub"])
      #expect(top.entries.map(\.isDirectory) == [false, true, false, true])
      #expect(top.entries.map(\.size) == [5, nil, 5, nil])
      let inner = try document(try remote.list("\(root)/inner"))
      #expect(inner.entries.map(\.name) == ["x"] && inner.parent == root)

      for path in [
        "/", outside, "\(root)/../outside", "\(root)/sub/../../outside", "\(root)/out",
        "\(root)/out/secrets", "\(root)x", fixture.work.directory, "\(root)/own", own,
      ] {
        let call = try remote.list(path)
        #expect(call.status == 403, "\(path): \(call.body)")
        #expect(!call.body.contains("hidden"))
      }
      for path in ["\(root)/missing", "\(root)/a b+c.txt"] {
        #expect(try remote.list(path).status == 404, "\(path)")
      }
      #expect(try remote.list("root").status == 400)
      #expect(try remote.list("").status == 400)
    }
  }

  @Test
  func `over TCP nothing is listed while the root is missing, given or by default`() async throws {
    for isGiven in [false, true] {
      try await DaemonFixture.with { (fixture) async throws in
        let root = fixture.work.path("missing")
        let remote = try await remote(fixture, root: isGiven ? root : nil)
        #expect(try remote.list("/").status == 403)
        #expect(try remote.list(fixture.work.directory).status == 403)
        #expect(try remote.list(root).status == (isGiven ? 404 : 403))
      }
    }
  }

  @Test func `over the socket every directory is listed but the daemon's own`() async throws {
    try await DaemonFixture.with { (fixture) async throws in
      #expect(try await fixture.haul("daemon", "start").status == 0)
      try Data("1".utf8).write(to: URL(filePath: fixture.work.path("file")))
      let socket = try fixture.location().socket
      func list(_ path: String) throws -> SocketCall {
        try SocketCall("GET", Self.query(path), ["Host: localhost"], to: socket)
      }
      let found = try document(try list(fixture.work.directory))
      #expect(found.entries.contains { $0.name == "file" && $0.size == 1 && !$0.isDirectory })
      #expect(found.parent != nil)
      #expect(try document(try list("/")).parent == nil)
      #expect(try list("\(fixture.state)/haul").status == 403)
      #expect(
        try SocketCall("GET", "/api/v1/files", ["Host: localhost"], to: socket).status == 400)
    }
  }
}
