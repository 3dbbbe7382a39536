import Foundation
import HaulCLI
import HaulCache
import HaulCore
import HaulTesting
import Testing

extension CommandFixture {
  /// Runs `body` while another process seems to use the cache.
  func holdingCache(_ body: () async throws -> Void) async throws {
    let file = open(path(".cache/haul/lock"), O_RDWR | O_CLOEXEC)
    try #require(file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0)
    defer { close(file) }
    try await body()
  }
}

/// Runs of `haul cache`.
@Suite(.serialized, .timeLimit(.minutes(10))) struct CacheCommandRuns {
  private static let control = "Cache-Control: max-age=3600"

  private static func files(_ paths: String...) -> [FaultScript.Resource] {
    paths.map { path in
      CommandFixture.file(path, length: 1000).with { $0.headers = [control] }
    }
  }

  /// Gets every file through the cache.
  private func fill(_ fixture: CommandFixture, _ paths: String...) async throws {
    let urls = paths.map { fixture.server.url($0) }
    let result = try await fixture.haul(["get", "--cache", "-d", "files"] + urls)
    #expect(result.status == 0, "\(result.errors)")
  }

  private func listed(_ fixture: CommandFixture) async throws -> [JSONValue] {
    let result = try await fixture.haul(["cache", "list", "--json"])
    #expect(result.status == 0, "\(result.errors)")
    let schema = try JSONSchema(published: "cache.json")
    return try result.output.split(separator: "\n").map { line in
      let object = try JSONValue(parsing: String(line))
      #expect(try schema.violations(of: object) == [])
      return object
    }
  }

  private func size(_ fixture: CommandFixture) async throws -> JSONValue {
    let result = try await fixture.haul(["cache", "size", "--json"])
    #expect(result.status == 0, "\(result.errors)")
    let object = try JSONValue(parsing: result.output)
    #expect(try JSONSchema(published: "cache.json").violations(of: object) == [])
    return object
  }

  @Test func `An empty cache is reported, and no directory is made for it`() async throws {
    try await CommandFixture.with { fixture in
      #expect(try await fixture.haul(["cache", "list"]).output == "the cache is empty\n")
      #expect(try await fixture.haul(["cache", "list", "--json"]).output == "")
      let size = try await fixture.haul(["cache", "size"])
      #expect(
        size.output
          == "0 files, 0 B of at most 512.0 MiB, in \(fixture.path(".cache/haul"))\n")
      let purge = try await fixture.haul(["cache", "purge"])
      #expect(purge.errors == "haul: removed 0 files from the cache, 0 B\n")
      #expect(try fixture.names().isEmpty)
    }
  }

  @Test
  func `list and size show what get --cache has stored, in a directory of the user alone`()
    async throws
  {
    try await CommandFixture.with(Self.files("/a.png", "/b.png")) { fixture in
      try await fill(fixture, "/a.png")
      try await fill(fixture, "/b.png")
      let table = try await fixture.haul(["cache", "list"])
      let lines = table.output.split(separator: "\n")
      #expect(lines.count == 3)
      #expect(lines.first?.hasPrefix("URL ") == true)
      #expect(lines.contains { $0.hasPrefix(fixture.server.url("/b.png")) })
      #expect(lines.dropFirst().allSatisfy { $0.contains("  fresh for ") })
      let objects = try await listed(fixture)
      let urls = objects.compactMap { $0["url"]?.string }
      #expect(Set(urls) == [fixture.server.url("/a.png"), fixture.server.url("/b.png")])
      #expect(objects.allSatisfy { $0["fresh"] == .bool(true) && $0["fresh_until"] != nil })
      let size = try await size(fixture)
      #expect(size["entries"] == .integer(2))
      #expect(size["limit"] == .integer(512 << 20))
      #expect((size["bytes"]?.double ?? 0) > 2000)
      let attributes = try FileManager.default.attributesOfItem(
        atPath: fixture.path(".cache/haul"))
      #expect(attributes[.posixPermissions] as? Int == 0o700)
    }
  }

  @Test
  func `purge removes everything, or the named, the unused or the oldest copies only`() async throws
  {
    try await CommandFixture.with(Self.files("/a.png", "/b.png", "/c.png")) { fixture in
      func purge(_ options: String...) async throws -> String {
        let result = try await fixture.haul(["cache", "purge"] + options)
        #expect(result.status == 0 && result.output == "", "\(result.errors)")
        return result.errors
      }
      try await fill(fixture, "/a.png", "/b.png", "/c.png")
      #expect(try await purge("--unused-for", "1h").contains("removed 0 files"))
      #expect(try await purge("--down-to", "1G").contains("removed 0 files"))
      #expect(try await purge(fixture.server.url("/a.png")).contains("removed 1 file from"))
      let urls = try await listed(fixture).compactMap { $0["url"]?.string }
      #expect(Set(urls) == [fixture.server.url("/b.png"), fixture.server.url("/c.png")])
      #expect(try await purge("--down-to", "2500").contains("removed 1 file from"))
      #expect(try await purge("-q") == "")
      #expect(try await size(fixture)["entries"] == .integer(0))
      let two = try await fixture.haul(["cache", "purge", "--down-to", "1K", "--unused-for", "1h"])
      #expect(two.status == 2)
    }
  }

  @Test
  func `list shows no value of a query, and purge removes exactly the address that is given`()
    async throws
  {
    try await CommandFixture.with(Self.files("/a.png")) { fixture in
      let paths = ["/a.png?pw9=s3cret-1;x=s3cret-2", "/a.png?id=1", "/a.png?id=2"]
      for path in paths {
        let got = try await fixture.haul(
          ["get", "--cache", "-o", "-", fixture.server.url(path)])
        #expect(got.status == 0, "\(got.errors)")
      }
      let table = try await fixture.haul(["cache", "list"])
      let objects = try await listed(fixture)
      #expect(!table.output.contains("s3cret") && table.output.contains("?pw9=***;x=***"))
      let ids = objects.compactMap { $0["url"]?.string }.filter { $0.hasSuffix("?id=***") }
      #expect(objects.count == 3 && ids.count == 2)
      let upper = fixture.server.url("/a.png?id=2").replacing("http", with: "HTTP")
      let purge = try await fixture.haul(["cache", "purge", upper])
      #expect(purge.errors.contains("removed 1 file from"), "\(purge.errors)")
      let only = try await fixture.haul([
        "get", "--cache", "-o", "-", "-H", "Cache-Control: only-if-cached",
        fixture.server.url("/a.png?id=1"),
      ])
      #expect(only.status == 0, "\(only.errors)")
    }
  }

  @Test
  func `A relative XDG_CACHE_HOME is ignored; without HOME the message says what to set`()
    async throws
  {
    try await CommandFixture.with { fixture in
      let size = try await fixture.haul(
        ["cache", "size"], environment: ["XDG_CACHE_HOME": "rel"])
      #expect(size.output.hasSuffix(" in \(fixture.path(".cache/haul"))\n"), "\(size.output)")
      let none = try await fixture.haul(
        ["cache", "size"], environment: ["XDG_CACHE_HOME": "rel", "HOME": ""])
      #expect(none.status == 1)
      #expect(
        none.errors
          == "haul: neither XDG_CACHE_HOME nor HOME is an absolute path; set one of them\n")
    }
  }

  @Test
  func `A cache that another process holds is an error of list, size and purge`() async throws {
    try await CommandFixture.with(Self.files("/a.png")) { fixture in
      try await fill(fixture, "/a.png")
      try await fixture.holdingCache {
        for arguments in [["list"], ["size", "--json"], ["purge"]] {
          let result = try await fixture.haul(["cache"] + arguments)
          #expect(result.status == 1 && result.output.isEmpty)
          let message = "another process is using the cache directory; try again later"
          #expect(result.errors == "haul: \(message)\n")
        }
      }
      #expect(try await size(fixture)["entries"] == .integer(1))
    }
  }

  @Test
  func `get writes the bytes to standard output, or to a file; again, it makes no request`()
    async throws
  {
    try await CommandFixture.with(Self.files("/a.txt")) { fixture in
      fixture.server.setFaults(
        "/a.txt", [.always(.respond(status: 200, headers: [Self.control], body: "hello\n"))])
      let url = fixture.server.url("/a.txt")
      for _ in 1...2 {
        let result = try await fixture.haul(["cache", "get", url])
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.output == "hello\n")
      }
      let saved = try await fixture.haul(["cache", "get", url, "-o", "a.txt"])
      #expect(saved.status == 0, "\(saved.errors)")
      #expect(try fixture.contents("a.txt") == Array("hello\n".utf8))
      #expect(fixture.server.snapshot.requests.count == 1)
      let missing = try await fixture.haul(["cache", "get", fixture.server.url("/none")])
      #expect(missing.status == 1)
      #expect(missing.output == "" && missing.failures.count == 1)
    }
  }

  @Test(arguments: 40...120)
  func `The table fits each width, and escapes addresses`(width: Int) {
    func entry(_ address: String, _ freshUntil: Double?) -> CacheInventory.Entry {
      CacheInventory.Entry(
        address: address, size: 12_345_678, storedAt: 1000, usedAt: 2000, freshUntil: freshUntil)
    }
    let long = "https://example.org/" + String(repeating: "name/", count: 40)
    let entries = [entry(long, 9_999_999), entry("https://h/\u{1B}[2J", nil), entry(long, 10)]
    let text = CacheOutput.table(entries, at: 500_000).text(width: width)
    let lines = text.split(separator: "\n").map(String.init)
    #expect(lines.count == 4)
    for line in lines { #expect(TerminalText.width(line) <= width, "\(line)") }
    #expect(lines[1].contains("fresh for 109d 22h"))
    #expect(lines[2].contains("stale") && lines[3].contains("stale"))
    #expect(!text.contains("\u{1B}"))
  }

  @Test(arguments: [
    (["--decode"], "--decode"), (["--min-split", "1M"], "--min-split"),
    (["--insecure"], "--insecure"), (["--resolve", "h:127.0.0.1"], "--resolve"),
    (["--cert", "c.pem"], "--cert"),
  ])
  func `An option that the cache cannot obey is wrong usage, and the message says why`(
    options: [String], name: String
  ) throws {
    let message = refusal(["get", "--cache", "https://h/x"] + options)
    #expect(message?.hasPrefix("--cache and \(name) contradict each other: ") == true)
    #expect(refusal(["get", "https://h/x"] + options) == nil)
    #expect(refusal(["add", "--cache", "https://h/x"]) != nil)
  }

  @Test func `haul cache alone, and a wrong command, is wrong usage`() throws {
    #expect(refusal(["cache"]) == "give list, size, purge or get; see 'haul cache --help'")
    #expect(refusal(["cache", "lits"]) != nil)
    #expect(refusal(["cache", "get"]) != nil)
    #expect(refusal(["cache", "purge", "example.org/x"]) != nil)
  }

  @Test func `haul.conf may switch the cache on; the user's options come first`() throws {
    func plan(_ text: String, _ arguments: String...) throws -> GetPlan {
      let sources = CommandSources(
        environment: ["HOME": "/h"],
        read: { (path, _) throws(UsageError) in path.hasSuffix("haul.conf") ? text : nil })
      guard let plan = try Invocation.plan(arguments, from: sources) as? GetPlan else {
        throw UsageError("that is not a get")
      }
      return plan
    }
    #expect(try plan("cache", "get", "https://h/x").usesCache)
    #expect(!(try plan("cache", "get", "--no-cache", "https://h/x").usesCache))
    #expect(!(try plan("cache", "get", "--insecure", "https://h/x").usesCache))
    #expect(try plan("decode\nmin-split = 1M", "get", "--cache", "https://h/x").usesCache)
    let get = try plan("decode\njson\nretries = 1", "cache", "get", "https://h/x")
    #expect(get.usesCache && get.output.streams && !get.output.json)
    #expect(get.requests.first?.retry.retries == 1)
    let error = #expect(throws: UsageError.self) {
      try plan("insecure", "cache", "get", "https://h/x")
    }
    #expect(error?.message.contains("haul.conf: line 1: insecure: --cache and") == true)
  }
}
