import Foundation
import HaulTesting
import Testing

/// Runs of `haul get -i ADDRESS`, and of `haul add`.
@Suite(.serialized, .timeLimit(.minutes(10))) struct FetchedListRuns {
  private struct Place {
    let fixture: CommandFixture
    let environment: [String: String]

    /// Puts a list to both servers.
    func put(_ list: String, as name: String) async throws {
      try Data(list.utf8).write(to: URL(filePath: fixture.path(name)))
      for place in ["s3://bucket/\(name)", fixture.server.url("/dav/\(name)")] {
        let put = try await haul("put", name, place, "--if-exists", "overwrite")
        #expect(put.status == 0, "\(put.errors)")
      }
      try FileManager.default.removeItem(atPath: fixture.path(name))
    }

    func haul(_ arguments: String...) async throws -> CommandResult {
      try await fixture.haul(arguments, environment: environment)
    }

    func address(_ name: String) -> String { fixture.server.url("/dav/\(name)") }
  }

  private func with(_ body: (Place) async throws -> Void) async throws {
    let store = FaultScript.Resource("/bucket/", length: 0).with { $0.service = .s3 }
    let plain = FaultScript.Resource("/dav/", length: 0).with { $0.service = .webDAV }
    try await CommandFixture.with(
      store, plain, CommandFixture.file("/file.bin", length: 5000),
      CommandFixture.file("/b", length: 10), CommandFixture.file("/c", length: 10)
    ) { (fixture) async throws in
      try await body(
        Place(
          fixture: fixture,
          environment: [
            "AWS_ENDPOINT_URL_S3": fixture.server.origin, "AWS_ACCESS_KEY_ID": "id",
            "AWS_SECRET_ACCESS_KEY": "canary", "XDG_STATE_HOME": fixture.path("state"),
          ]))
    }
  }

  @Test func `A list of a server is worked off like a file, below -d`() async throws {
    try await with { place in
      let fixture = place.fixture
      let rows = """
        {"url": "\(fixture.server.url("/file.bin"))", "out": "x/a", "dir": "sub"}
        {"url": "\(fixture.server.url("/b"))"}

        """
      try await place.put(rows, as: "l.jsonl")
      for list in [place.address("l.jsonl") + "?token=canary", "s3://bucket/l.jsonl"] {
        let result = try await place.haul(
          "get", "-i", list, "-d", "out", "--manifest", "done/")
        #expect(result.status == 0, "\(result.errors)")
        #expect(try fixture.names("out").sorted() == ["b", "sub"])
        #expect(try fixture.contents("out/sub/x/a").count == 5000)
        #expect(try fixture.names("done") == ["l.jsonl"], "no query in a name")
        #expect(!(result.output + result.errors).contains("canary"))
        try FileManager.default.removeItem(atPath: fixture.path("out"))
        try FileManager.default.removeItem(atPath: fixture.path("done"))
      }
    }
  }

  @Test
  func `Header fields and passwords go to the server of the list, and to trusted hosts alone`()
    async throws
  {
    try await with { place in
      let server = place.fixture.server
      let other = server.url("/b").replacing("127.0.0.1", with: "localhost")
      try await place.put("\(server.url("/file.bin"))\n\(other)\n", as: "l.txt")
      try Data("token-canary".utf8).write(to: URL(filePath: place.fixture.path("token")))
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o600], ofItemAtPath: place.fixture.path("token"))
      let result = try await place.haul(
        "get", "-i", place.address("l.txt"), "--bearer-file", "token", "-H", "X-Mine: 1",
        "--cookie", "s=1")
      #expect(result.status == 0, "\(result.errors)")
      let requests = server.snapshot.requests
      for path in ["/dav/l.txt", "/file.bin"] {
        let request = try #require(requests.last { $0.target == path && $0.method == "GET" })
        #expect(request.header("Authorization") == "Bearer token-canary")
        #expect(request.header("X-Mine") == "1" && request.header("Cookie") == "s=1")
      }
      let request = try #require(requests.last { $0.target == "/b" })
      for name in ["Authorization", "X-Mine", "Cookie"] {
        #expect(request.header(name) == nil, "\(name) goes where another server sends it")
      }
    }
  }

  @Test(arguments: [["/c"], ["/b", "/c"]])
  func `A list to which another server redirects may do what that redirect may`(
    hops: [String]
  ) async throws {
    try await with { place in
      let server = place.fixture.server
      let port = server.origin.split(separator: ":").last ?? ""
      // There and, with two hops, back again.
      let elsewhere = "http://example.org:\(port)"
      for (hop, next) in zip(hops, hops.dropFirst() + ["/dav/l.txt"]) {
        let origin = hop == "/b" || hops.count == 1 ? elsewhere : server.origin
        server.setFaults(hop, [.redirect(to: origin + next)])
      }
      try Data("token-canary".utf8).write(to: URL(filePath: place.fixture.path("token")))
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o600], ofItemAtPath: place.fixture.path("token"))
      try await place.put("\(hops.count == 1 ? elsewhere : server.origin)/file.bin\n", as: "l.txt")
      func get() async throws -> CommandResult {
        try await place.haul(
          "get", "-i", server.url(hops[0]), "--bearer-file", "token", "-d", "out", "--resolve",
          "example.org:127.0.0.1")
      }
      let result = try await get()
      #expect(result.status == 0, "\(result.errors)")
      let requests = server.snapshot.requests
      #expect(requests.first { $0.target == hops[0] }?.header("Authorization") != nil)
      for path in ["/dav/l.txt", "/file.bin"] {
        let request = try #require(requests.last { $0.target == path && $0.method == "GET" })
        #expect(request.header("Authorization") == nil, "\(path)")
      }
      guard hops.count == 1 else { return }
      try await place.put("\(server.origin)/file.bin\n", as: "l.txt")
      let refused = try await get()
      #expect(refused.status == 2 && refused.errors.contains("must not choose the private address"))
    }
  }

  @Test(arguments: [1, nil])
  func `A list that was cut off is asked for again`(cuts: Int?) async throws {
    try await with { place in
      let server = place.fixture.server
      // Long enough that its first bytes are read before it ends.
      let comment = "# " + String(repeating: "x", count: 3 << 20)
      let body = Data("\(comment)\n\(server.url("/file.bin"))\n".utf8).base64EncodedString()
      server.setFaults(
        "/b",
        [
          Fault(.entityTag(value: nil), .lastModified(seconds: nil), .body(base64: body)),
          .close(after: 2 << 20, times: cuts),
        ])
      let result = try await place.haul(
        "get", "--worker", "-i", server.url("/b"), "-d", "out",
        "--retries", "2")
      #expect(result.status == (cuts == 1 ? 0 : 75), "\(result.errors)")
      #expect(cuts == 1 || result.errors.contains("each time it was cut off"), "\(result.errors)")
    }
  }

  @Test func `Rules for files of a server's list do not lead out of -d`() async throws {
    try await with { place in
      try await place.put("\(place.fixture.server.url("/file.bin"))\n", as: "l.txt")
      let result = try await place.haul(
        "get", "-i", place.address("l.txt"), "-d", "out", "--rule",
        "* -> \(place.fixture.path("outside"))")
      #expect(result.status == 0, "\(result.errors)")
      #expect(try place.fixture.names("out") == ["file.bin"])
      let below = try await place.haul(
        "get", "-i", place.address("l.txt"), "-d", "out", "--rule", "* -> sub")
      #expect(below.status == 0 && below.errors.contains("by the rule *"), "\(below.errors)")
      #expect(try place.fixture.names("out/sub") == ["file.bin"])
    }
  }

  @Test func `What a server must not choose is refused before anything begins`() async throws {
    try await with { place in
      let file = place.fixture.server.url("/file.bin")
      let count = place.fixture.server.snapshot.requestCount("/file.bin")
      for (row, message) in [
        ("\(file)\n  out=../x", "out=../x: a list of a server names files below"),
        ("\(file)\n  out=/tmp/x", "out=/tmp/x: a list of a server"),
        ("\(file)\n  dir=a/../..", "dir=a/../..: a list of a server"),
        ("\(file)\n  out=s3://bucket/x", "must not choose where the file is sent"),
        ("\(file)\n  bearer-file=l.txt", "must not choose credentials"),
        ("\(file)\n  group=g", "must not choose a group"),
        ("s3://bucket/secret", "must not choose an object that your key would be used for"),
      ] {
        try await place.put("\(file)\n\(row)\n", as: "l.txt")
        let result = try await place.haul("get", "-i", place.address("l.txt"), "-d", "out")
        #expect(result.status == 2 && result.errors.contains(message), "\(result.errors)")
        #expect(result.errors.contains("l.txt: line"))
      }
      #expect(place.fixture.server.snapshot.requestCount("/file.bin") == count)
      // The store is the user's own.
      try await place.put("k", as: "key")
      try await place.put("s3://bucket/key\n", as: "l.txt")
      let own = try await place.haul("get", "-i", "s3://bucket/l.txt", "-d", "own")
      #expect(own.status == 0, "\(own.errors)")
    }
  }

  @Test func `A list that does not come, or may be cut, begins nothing`() async throws {
    try await with { place in
      let server = place.fixture.server
      let missing = try await place.haul("get", "-i", place.address("no.txt"))
      #expect(missing.status == 1 && missing.errors.contains("no.txt"), "\(missing.errors)")
      server.setFaults("/b", [.always(.status(503))])
      let busy = try await place.haul(
        "get", "--worker", "-i", server.url("/b"), "--retries", "0")
      #expect(busy.status == 75, "\(busy.errors)")
      #expect(try await place.haul("get", "-i", "https://").status == 2)
    }
  }

  @Test func `With haul add, the daemon gets the rows`() async throws {
    try await with { place in
      try await place.put("\(place.fixture.server.url("/file.bin"))\n  out=q\n", as: "l.txt")
      let added = try await place.haul("add", "-q", "-i", place.address("l.txt"), "-d", "out")
      #expect(added.status == 0, "\(added.errors)")
      let waited = try await place.haul("wait", "--all")
      #expect(waited.status == 0, "\(waited.errors)")
      #expect(try place.fixture.contents("out/q").count == 5000)
      _ = try await place.haul("daemon", "stop")
    }
  }
}
