import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// What a client with the token cannot reach over TCP.
@Suite(.timeLimit(.minutes(10)))
struct RemoteConfinementRuns {
  private func makeDirectory(_ path: String) throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  }

  @Test(arguments: ["\u{301}x\u{600}", "\u{600}", "x\u{200D}", "\u{301}"])
  func `whatever characters join a slash`(name: String) async throws {
    try await RemoteFixture.with { (remote) async throws in
      let url = remote.fixture.work.server.url("/a")
      let secret = remote.fixture.work.path("secret")
      try Data("secret".utf8).write(to: URL(filePath: secret))
      let way = "\(remote.root)/../\(name)/../secret"
      for keys in [#""file":"\#(way)","if_exists":"overwrite""#, #""put":"\#(way)""#] {
        #expect(try remote.add(#""url":"\#(url)",\#(keys)"#).status == 403, "\(keys)")
      }
      let making = #""directory":"\#(remote.root)/../\#(name)","creates_directories":true"#
      #expect(try remote.add(#""url":"\#(url)",\#(making)"#).status == 403)
      #expect(try String(contentsOfFile: secret, encoding: .utf8) == "secret")
    }
  }

  @Test func `also when a directory has become a link since it was added`() async throws {
    try await RemoteFixture.with { (remote) async throws in
      let fixture = remote.fixture
      let url = fixture.work.server.url("/a")
      let outside = fixture.work.path("outside")
      let later = "\(remote.root)/later"
      for path in [outside, later] { try makeDirectory(path) }
      try Data("secret".utf8).write(to: URL(filePath: "\(outside)/f"))
      try Data("file".utf8).write(to: URL(filePath: "\(later)/f"))
      #expect(try await fixture.haul("suspend").status == 0)
      for keys in [
        #""file":"\#(later)/new""#, #""directory":"\#(later)""#,
        #""file":"\#(later)/f","if_exists":"overwrite""#, #""put":"\#(later)/f""#,
      ] {
        #expect(try remote.add(#""url":"\#(url)",\#(keys)"#).status == 201, "\(keys)")
      }
      // The control: over the socket, the link is followed.
      let free = try await fixture.add("/a", "-o", "\(later)/free")
      try FileManager.default.moveItem(atPath: later, toPath: "\(remote.root)/kept")
      try FileManager.default.createSymbolicLink(atPath: later, withDestinationPath: outside)
      #expect(try await fixture.haul("unsuspend").status == 0)
      #expect(try await fixture.haul("wait", "--all").status == 1)
      let names = try FileManager.default.contentsOfDirectory(atPath: outside).sorted()
      #expect(names == ["f", "free"])
      #expect(try await fixture.state(of: free).state == .completed)
      #expect(try String(contentsOfFile: "\(outside)/f", encoding: .utf8) == "secret")
      #expect(fixture.work.server.snapshot.requests.allSatisfy { $0.body.isEmpty })
    }
  }

  @Test func `a root with a composed letter does not admit its decomposed twin`() async throws {
    try await RemoteFixture.with { (remote) async throws in
      let url = remote.fixture.work.server.url("/a")
      let (composed, decomposed) = ("\(remote.root)/T\u{E9}l", "\(remote.root)/Te\u{301}l")
      for path in [composed, decomposed] { try makeDirectory(path) }
      #expect(try await remote.fixture.haul("daemon", "stop").status == 0)
      let serving = try await remote.fixture.serve("--listen", "127.0.0.1:0", "--root", composed)
      try await serving.reach("it listened") { _, errors in errors.contains("of 127.0.0.1") }
      let number = serving.firstError(matching: /listening on port (\d+)/)
      let again = RemoteFixture(
        fixture: remote.fixture, port: try #require(number.flatMap { Int($0) }),
        token: remote.token, root: composed)
      #expect(try again.add(#""url":"\#(url)","directory":"\#(decomposed)""#).status == 403)
      #expect(try again.add(#""url":"\#(url)","directory":"\#(composed)""#).status == 201)
      #expect(try await remote.fixture.haul("wait", "--all").status == 0)
    }
  }

  @Test
  func `the owner's secrets get no address of the client, at the same server either`() async throws
  {
    try await RemoteFixture.with { (remote) async throws in
      let fixture = remote.fixture
      let url = fixture.work.server.url("/a")
      #expect(try await fixture.haul("suspend").status == 0)
      let secret = try await fixture.add("/a", "-o", "\(remote.root)/y", "-H", "X-Key: canary")
      let copied = try await fixture.haul(
        "add", "-H", "X-Key: canary", url, "-o", fixture.work.server.url("/store"))
      let copy = copied.output.trimmingCharacters(in: .newlines)
      let plain = try await fixture.add("/a", "-o", "\(remote.root)/plain")
      let sum = "sha-256=\(String(repeating: "0", count: 64))"
      let proved = try await fixture.add(
        "/a", "-o", "\(remote.root)/proved", "--checksum", sum)
      // The file would be proved, and its owner's key sent to the client.
      let both = try await fixture.add(
        "/a", "-o", "\(remote.root)/both", "--checksum", sum, "-H", "X-Key: canary")
      for id in [secret, copy, plain, both] {
        #expect(try remote.move(id, to: "http://localhost:9/a").status == 403)
        #expect(try remote.move(id, to: fixture.work.server.url("/other")).status == 403)
      }
      let weak = try await fixture.add(
        "/a", "-o", "\(remote.root)/weak", "--checksum", "crc32c=00000000")
      #expect(try remote.move(weak, to: "http://localhost:9/a").status == 403)
      // The checksum of its owner stays, and it stays its owner's.
      #expect(try remote.move(proved, to: "http://localhost:9/a").status == 200)
      #expect(try remote.move(proved, to: "http://localhost:9/b").status == 200)
      let again = try remote.call(
        "POST", "/api/v1/commands", remote.fields + ["Content-Type: application/json"],
        body: #"{"command":"restart","transfers":{"ids":["\#(copy)"]}}"#)
      #expect(again.status == 403)
      let own = try remote.add(#""url":"\#(url)","file":"\#(remote.root)/own""#)
      let id = try #require(own.body.firstMatch(of: /[0-9A-Z]{8}/).map { String($0.output) })
      #expect(try remote.move(id, to: "http://localhost:9/a").status == 200)
    }
  }

  @Test func `a call looks for at most a hundred beginnings of ids in the list`() async throws {
    try await RemoteFixture.with { (remote) async throws in
      #expect(try await remote.fixture.haul("suspend").status == 0)
      let id = try await remote.fixture.add("/a", "-o", "\(remote.root)/a")
      func pause(_ name: String, _ count: Int) throws -> Int {
        let names = repeatElement(#""\#(name)""#, count: count).joined(separator: ",")
        return try remote.call(
          "POST", "/api/v1/commands", remote.fields + ["Content-Type: application/json"],
          body: #"{"command":"pause","transfers":{"ids":[\#(names)]}}"#
        ).status
      }
      #expect(try pause(String(id.prefix(4)), 101) == 422)
      #expect(try pause(String(id.prefix(4)), 100) == 200)
      #expect(try pause(id, 1000) == 200)
    }
  }

  @Test func `what the owner's program wrote is shown on the socket only`() async throws {
    try await RemoteFixture.with { (remote) async throws in
      let fixture = remote.fixture
      let added = try await fixture.haul(
        "add", "--run", "--", "sh", "-c", "echo canary >&2; exit 3")
      let id = added.output.trimmingCharacters(in: .newlines)
      #expect(try await fixture.haul("wait", id).status != 0)
      #expect(try await fixture.haul("show", id).output.contains("canary"))
      for path in ["transfers", "transfers/\(id)", "transfers/\(id)/details", "notices"] {
        let call = try remote.call("GET", "/api/v1/\(path)", remote.fields)
        #expect(call.status == 200 && !call.body.contains("canary"), "\(path): \(call.body)")
      }
    }
  }

  @Test func `the owner's program that has failed does not become a cancelled one`() async throws {
    try await RemoteFixture.with { (remote) async throws in
      let fixture = remote.fixture
      func cancel(_ id: String) throws -> Int {
        try remote.call(
          "POST", "/api/v1/commands", remote.fields + ["Content-Type: application/json"],
          body: #"{"command":"cancel","transfers":{"ids":["\#(id)"]}}"#
        ).status
      }
      let failing = try await fixture.haul("add", "--run", "--", "sh", "-c", "exit 3")
      let failed = failing.output.trimmingCharacters(in: .newlines)
      #expect(try await fixture.haul("wait", failed).status == 1)
      #expect(try cancel(failed) == 403)
      #expect(try await fixture.state(of: failed).state == .failed)
      // The control: one that has not ended.
      #expect(try await fixture.haul("suspend").status == 0)
      let added = try await fixture.haul("add", "--run", "--", "true")
      let waiting = added.output.trimmingCharacters(in: .newlines)
      #expect(try cancel(waiting) == 200)
      #expect(try await fixture.state(of: waiting).state == .cancelled)
    }
  }

  @Test func `what was added over the socket is not replaced`() async throws {
    try await RemoteFixture.with { (remote) async throws in
      let fixture = remote.fixture
      let url = fixture.work.server.url("/a")
      #expect(try await fixture.haul("suspend").status == 0)
      let id = try await fixture.add("/a", "-o", "\(remote.root)/y", "--id", "nightly")
      let keys = #""url":"\#(url)?x","file":"\#(remote.root)/y","identifier":"nightly""#
      #expect(try remote.add(keys, beside: #","if_known":"update""#).status == 409)
      #expect(try remote.add(keys).status == 201, "which keeps it")
      #expect(try await fixture.state(of: id).url == url)
      let mine = keys.replacing("nightly", with: "mine").replacing("/y", with: "/z")
      for _ in 0..<2 {
        #expect(try remote.add(mine, beside: #","if_known":"update""#).status == 201)
      }
    }
  }

  @Test
  func `what the owner's transfer has completed is neither replaced nor deleted`() async throws {
    try await RemoteFixture.with { (remote) async throws in
      let fixture = remote.fixture
      let path = "\(remote.root)/tool"
      let id = try await fixture.add("/a", "-o", path)
      #expect(try await fixture.haul("wait", id).status == 0)
      let good = try Data(contentsOf: URL(filePath: path))
      fixture.work.server.replaceContent("/a", seed: 99)
      let url = fixture.work.server.url("/a")
      for keys in [
        #""url":"\#(url)?evil","file":"\#(path)","if_exists":"overwrite""#,
        #""url":"\#(url)","file":"\#(path)""#, #""url":"\#(url)?x","file":"\#(path)""#,
      ] {
        let other = try remote.id(of: try remote.add(keys))
        #expect(try await fixture.haul("wait", other).status == 1, "\(keys)")
        #expect(try await fixture.state(of: other).error?.code == .nameConflict)
      }
      let left = try remote.remove(id)
      #expect(left == [path])
      #expect(try Data(contentsOf: URL(filePath: path)) == good)
      // The control: what came over TCP is replaced, and deleted, over TCP.
      let own = "\(remote.root)/own"
      for keys in ["", #","if_exists":"overwrite""#] {
        let mine = try remote.id(
          of: try remote.add(#""url":"\#(url)?\#(keys.count)","file":"\#(own)"\#(keys)"#))
        #expect(try await fixture.haul("wait", mine).status == 0)
        guard !keys.isEmpty else { continue }
        #expect(try remote.remove(mine) == [])
      }
      #expect(!FileManager.default.fileExists(atPath: own))
    }
  }

  @Test(arguments: [2, 1000, 5000])
  func `what it has downloaded is not taken for the owner's download of that address`(
    tagLength: Int
  ) async throws {
    try await RemoteFixture.with { (remote) async throws in
      let fixture = remote.fixture
      let tag = "\"\(String(repeating: "t", count: tagLength))\""
      fixture.work.server.update("/a") { $0.entityTag = tag }
      let url = fixture.work.server.url("/a")
      let keys = #""url":"\#(url)","file":"\#(remote.root)/tool""#
      #expect(try await fixture.haul("wait", try remote.id(of: try remote.add(keys))).status == 0)
      let again = try remote.id(of: try remote.add(keys))
      #expect(try await fixture.haul("wait", again).status == 0, "the control: it is the client's")
      let own = try await fixture.add("/a", "-o", "\(remote.root)/tool")
      #expect(try await fixture.haul("wait", own).status == 1)
      #expect(try await fixture.state(of: own).error?.code == .nameConflict)
      let named = try await fixture.add("/a", "-d", remote.root)
      #expect(try await fixture.haul("wait", named).status == 0)
    }
  }

  @Test
  func `a mask takes nothing from the owner of the file, who could not read whose it is`()
    async throws
  {
    try await RemoteFixture.with { (remote) async throws in
      let url = remote.fixture.work.server.url("/a")
      let path = "\(remote.root)/f"
      #expect(try remote.add(#""url":"\#(url)","file":"\#(path)","umask":"777""#).status == 201)
      #expect(try await remote.fixture.haul("wait", "--all").status == 0)
      let attributes = try FileManager.default.attributesOfItem(atPath: path)
      #expect((attributes[.posixPermissions] as? Int).map { $0 & 0o600 } == 0o600)
    }
  }

  @Test(arguments: [true, false], [true, false])
  func `neither side continues a part of the other, and a client discards none of the owner's`(
    isBegunByOwner: Bool, isOfOwner: Bool
  ) async throws {
    try await RemoteFixture.with { (remote) async throws in
      let fixture = remote.fixture
      let (server, path) = (fixture.work.server, "\(remote.root)/tool")
      let keys = #""url":"\#(server.url("/a"))","file":"\#(path)","connections":1"#
      func add(byOwner: Bool) async throws -> String {
        byOwner
          ? try await fixture.add("/a", "-o", path, "-x", "1")
          : try remote.id(of: try remote.add(keys))
      }
      server.setFaults("/a", [Fault(.stall(after: 2 << 20))])
      let begun = try await add(byOwner: isBegunByOwner)
      try await server.waitForHeld("/a")
      try await until { try await fixture.state(of: begun).bytes >= 1 << 20 }
      #expect(try await fixture.haul("cancel", "--keep-part", begun).status == 0)
      server.setFaults("/a", [])
      let own = try await add(byOwner: isOfOwner)
      let isRefused = isBegunByOwner && !isOfOwner
      #expect(try await fixture.haul("wait", own).status == (isRefused ? 1 : 0))
      if isRefused {
        #expect(try await fixture.state(of: own).error?.code == .nameConflict)
        let again = try await add(byOwner: true)
        #expect(try await fixture.haul("wait", again).status == 0)
      }
      let range = try #require(server.snapshot.requests.last?.range)
      // The control: its own part is continued.
      #expect((range == "bytes=0-") == (!isBegunByOwner && isOfOwner), "\(range)")
      try fixture.work.expectWhole("root/tool")
    }
  }

  @Test
  func `a name that it has taken is not taken for its owner's, nor for the beginning of an id`()
    async throws
  {
    try await RemoteFixture.with { (remote) async throws in
      let fixture = remote.fixture
      let url = fixture.work.server.url("/a")
      #expect(try await fixture.haul("suspend").status == 0)
      let named = #""url":"\#(url)?x","file":"\#(remote.root)/y","identifier":"tool""#
      #expect(try remote.add(named).status == 201)
      let taken = try await fixture.haul("add", "--id", "tool", "-o", "\(remote.root)/z", url)
      #expect(taken.status != 0)
      #expect(taken.errors.contains("over TCP"), "\(taken.errors)")
      let waiting = try await fixture.haul("add", "--after", "tool", "--run", "--", "true")
      #expect(waiting.status != 0, "a program does not run after the client's file")
      let known = try #require(waiting.errors.firstMatch(of: /its id ([0-9A-Z]{8})/)?.output.1)
      #expect(
        try await fixture.haul("add", "--after", "\(known)", "--run", "--", "true").status == 0)
      _ = try await fixture.add("/a", "-o", "\(remote.root)/v", "--id", "mine")
      #expect(try await fixture.haul("add", "--after", "mine", "--run", "--", "true").status == 0)

      let id = try await fixture.add("/a", "-o", "\(remote.root)/own")
      let start = id.prefix(4)
      let alike = #""url":"\#(url)?y","file":"\#(remote.root)/w","identifier":"\#(start)""#
      #expect(try await fixture.haul("show", "\(start)").status == 0)
      #expect(try remote.add(alike).status == 201)
      let unclear = try await fixture.haul("cancel", "\(start)")
      #expect(unclear.status != 0)
      #expect(unclear.errors.contains("whole id"), "\(unclear.errors)")
      #expect(try await fixture.haul("cancel", id).status == 0)
    }
  }

  @Test
  func `the same call with the same idempotency key is another one over the socket`() async throws {
    try await RemoteFixture.with { (remote) async throws in
      #expect(try await remote.fixture.haul("suspend").status == 0)
      let url = remote.fixture.work.server.url("/a")
      let body = #"{"transfers":[{"url":"\#(url)","directory":"\#(remote.root)"}]}"#
      let fields = ["Content-Type: application/json", "Idempotency-Key: nightly"]
      let socket = try remote.fixture.location().socket
      func add(overTCP: Bool) throws -> String {
        let call =
          overTCP
          ? try remote.call("POST", "/api/v1/transfers", remote.fields + fields, body: body)
          : try SocketCall(
            "POST", "/api/v1/transfers", ["Host: localhost"] + fields, body: body, to: socket)
        return try remote.id(of: call)
      }
      let client = try add(overTCP: true)
      let owner = try add(overTCP: false)
      #expect(owner != client)
      // The control: each side's own call adds once.
      #expect(try add(overTCP: true) == client)
      #expect(try add(overTCP: false) == owner)
    }
  }

  @Test func `another server gets no unchecked certificate, also over the socket`() async throws {
    try await DaemonFixture.with(CommandFixture.file("/a")) { (fixture) async throws in
      let server = try await FaultServer.start(FaultScript([CommandFixture.file("/a")]), tls: .good)
      #expect(try await fixture.haul("daemon", "start").status == 0)
      #expect(try await fixture.haul("suspend").status == 0)
      let url = "https://localhost:\(server.port)/a"
      func added(_ name: String, _ address: String) async throws -> String {
        let result = try await fixture.haul(
          "add", "--insecure", "--retries", "0", "-o", fixture.work.path(name), address)
        return result.output.trimmingCharacters(in: .newlines)
      }
      let moved = try await added("moved", "https://localhost:1/a")
      let kept = try await added("kept", url)
      let notice = try await fixture.haul("set", moved, "--url", url)
      #expect(notice.status == 0)
      #expect(notice.errors.contains("--insecure"), "\(notice.errors)")
      #expect(try await fixture.haul("set", kept, "--url", "\(url)?x").errors.isEmpty)
      #expect(try await fixture.haul("unsuspend").status == 0)
      #expect(try await fixture.haul("wait", "--all").status == 1)
      #expect(try await fixture.state(of: moved).error?.code == .tls)
      #expect(try await fixture.state(of: kept).state == .completed, "at the same server it holds")
      try await server.shutdown()
    }
  }
}
