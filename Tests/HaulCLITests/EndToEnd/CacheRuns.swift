import Foundation
import HaulCore
import HaulTesting
import Testing

/// Runs of `haul get --cache`.
@Suite(.serialized, .timeLimit(.minutes(10))) struct CacheRuns {
  static func file(
    _ control: String, length: Int64 = CommandFixture.length, faults: [Fault] = []
  ) -> FaultScript.Resource {
    CommandFixture.file(length: length).with {
      $0.headers = ["Cache-Control: \(control)"]
      $0.faults = faults
    }
  }

  /// Gets the file through the cache; returns its last event.
  func get(
    _ fixture: CommandFixture, _ options: String...,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> JSONValue {
    try await get(fixture, options, sourceLocation: sourceLocation)
  }

  func get(
    _ fixture: CommandFixture, _ options: [String],
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> JSONValue {
    let arguments = ["get", "--json", "--cache", fixture.server.url("/file.bin")] + options
    let result = try await fixture.haul(arguments)
    #expect(result.status == 0, "\(result.errors)", sourceLocation: sourceLocation)
    return try #require(
      try result.events(sourceLocation: sourceLocation).finished.first,
      sourceLocation: sourceLocation)
  }

  func count(_ fixture: CommandFixture) async throws -> JSONValue? {
    let result = try await fixture.haul(["cache", "size", "--json"])
    #expect(result.status == 0, "\(result.errors)")
    return try JSONValue(parsing: result.output)["entries"]
  }

  @Test
  func `A fresh copy is used without a request, and its bytes do not count as fetched`()
    async throws
  {
    try await CommandFixture.with(Self.file("max-age=3600")) { fixture in
      let first = try await get(fixture)
      #expect(first["cache"]?.string == "miss")
      #expect(first["fetched"] == .integer(CommandFixture.length))
      let asked = fixture.server.snapshot.requests.count
      let second = try await get(fixture, "-o", "second.bin")
      #expect(second["cache"]?.string == "hit")
      #expect(second["fetched"] == .integer(0))
      #expect(second["bytes"] == .integer(CommandFixture.length))
      #expect(second["verified"]?.string == "length")
      #expect(fixture.server.snapshot.requests.count == asked)
      try fixture.expectWhole()
      try fixture.expectWhole("second.bin")
      let plain = try await fixture.haul(
        ["get", "--cache", "-o", "third.bin", fixture.server.url("/file.bin")])
      #expect(plain.errorLines.last?.hasSuffix(", from the cache") == true, "\(plain.errors)")
    }
  }

  @Test
  func `Beside the file that it made, a fresh copy without validators causes no further request`()
    async throws
  {
    let file = Self.file("max-age=3600").with { ($0.entityTag, $0.lastModified) = (nil, nil) }
    try await CommandFixture.with(file) { fixture in
      _ = try await get(fixture)
      let asked = fixture.server.snapshot.requests.count
      for _ in 1...2 {
        #expect(try await get(fixture)["fetched"] == .integer(0))
        #expect(fixture.server.snapshot.requests.count == asked)
      }
      // A file that is older than the copy is replaced.
      fixture.server.replaceContent("/file.bin", seed: 99)
      #expect(try await fixture.haul(["cache", "purge"]).status == 0)
      _ = try await get(fixture, "-o", "elsewhere.bin")
      #expect(try await get(fixture)["bytes"] == .integer(CommandFixture.length))
      try fixture.expectWhole(seed: 99)
    }
  }

  @Test
  func `A stale copy is used after the server has confirmed it; then it is fresh again`()
    async throws
  {
    try await CommandFixture.with(Self.file("max-age=0")) { fixture in
      _ = try await get(fixture)
      let sent = fixture.server.snapshot.bytesSent("/file.bin")
      fixture.server.update("/file.bin") { $0.headers = ["Cache-Control: max-age=3600"] }
      let second = try await get(fixture, "-o", "second.bin")
      #expect(second["cache"]?.string == "revalidated")
      #expect(second["fetched"] == .integer(0))
      #expect(fixture.server.snapshot.requests.last?.status == 304)
      #expect(fixture.server.snapshot.bytesSent("/file.bin") == sent)
      #expect(try await get(fixture, "-o", "third.bin")["cache"]?.string == "hit")
      try fixture.expectWhole("third.bin")
    }
  }

  @Test func `A stale copy is replaced if the server has another version`() async throws {
    try await CommandFixture.with(Self.file("max-age=0")) { fixture in
      _ = try await get(fixture)
      fixture.server.update("/file.bin") {
        $0.seed = 9
        $0.entityTag = FaultScript.Resource.strongTag(seed: 9)
        $0.headers = ["Cache-Control: max-age=3600"]
      }
      #expect(try await get(fixture, "-o", "second.bin")["cache"]?.string == "miss")
      #expect(try await get(fixture, "-o", "third.bin")["cache"]?.string == "hit")
      for name in ["second.bin", "third.bin"] { try fixture.expectWhole(name, seed: 9) }
      #expect(try await count(fixture) == .integer(1))
    }
  }

  @Test func `A stale copy is never used without the server's confirmation`() async throws {
    let control = "max-age=0, stale-if-error=3600, stale-while-revalidate=3600"
    try await CommandFixture.with(Self.file(control)) { fixture in
      _ = try await get(fixture)
      fixture.server.setFaults("/file.bin", [.always(.status(503))])
      let url = fixture.server.url("/file.bin")
      let result = try await fixture.haul(
        ["get", "--json", "--cache", "--retries", "0", "-o", "second.bin", url])
      try result.expectFailed(.httpStatus)
      #expect(!(try fixture.names().contains("second.bin")))
    }
  }

  @Test
  func `What the server forbids to store, and the target of a redirect, is fetched each time`()
    async throws
  {
    let redirect = FaultScript.Resource("/link", length: 0).with {
      $0.redirect = .init(location: "http://127.0.0.1:{port}/target.bin")
    }
    let target = CommandFixture.file("/target.bin").with {
      $0.headers = ["Cache-Control: max-age=3600"]
    }
    try await CommandFixture.with(Self.file("no-store"), redirect, target) { fixture in
      for (path, reason) in [
        ("/file.bin", "the server or the request forbids it"),
        ("/link", "it comes from the target of a redirect"),
      ] {
        for name in ["1", "2"] {
          let result = try await fixture.haul(
            ["get", "-v", "--cache", fixture.server.url(path), "-o", "file\(name)"])
          #expect(result.status == 0, "\(result.errors)")
          #expect(result.errors.contains("not stored: \(reason)"), "\(result.errors)")
        }
        try fixture.expectWhole("file2")
        for name in ["1", "2"] {
          try FileManager.default.removeItem(atPath: fixture.path("file\(name)"))
        }
      }
      #expect(try await count(fixture) == .integer(0))
    }
  }

  @Test
  func `A file above the bound is downloaded as usual, also with a break, and not stored`()
    async throws
  {
    let length: Int64 = (32 << 20) + 1
    let broken = Self.file(
      "max-age=3600", length: length, faults: [.close(after: 1 << 20, times: 1)])
    try await CommandFixture.with(broken) { fixture in
      let result = try await fixture.haul(
        ["get", "-v", "--cache", fixture.server.url("/file.bin")])
      #expect(result.status == 0, "\(result.errors)")
      #expect(result.errors.contains("not stored: it is too large"), "\(result.errors)")
      try fixture.expectWhole(length: length)
      #expect(fixture.server.snapshot.requests.count > 1)
      #expect(try await count(fixture) == .integer(0))
    }
  }

  @Test
  func `A file that broke off is resumed and not stored; the next download stores it`() async throws
  {
    let broken = Self.file("max-age=3600", faults: [.close(after: 1 << 20, times: 1)])
    try await CommandFixture.with(broken) { fixture in
      #expect(try await get(fixture)["cache"]?.string == "miss")
      try fixture.expectWhole()
      #expect(fixture.server.snapshot.bytesSent("/file.bin") < 2 * CommandFixture.length)
      #expect(try await count(fixture) == .integer(0))
      _ = try await get(fixture, "-o", "second.bin")
      #expect(try await count(fixture) == .integer(1))
    }
  }

  @Test func `A part file of an interrupted run is completed from a fresh copy`() async throws {
    try await CommandFixture.with(Self.file("max-age=3600")) { fixture in
      _ = try await get(fixture, "-o", "other.bin")
      _ = try await fixture.interrupt()
      let asked = fixture.server.snapshot.requests.count
      #expect(try await get(fixture)["cache"]?.string == "hit")
      #expect(fixture.server.snapshot.requests.count == asked)
      try fixture.expectWhole()
      #expect(try fixture.names().filter { $0.hasPrefix("file") } == ["file.bin"])
    }
  }

  @Test func `--if-exists holds for copies too`() async throws {
    try await CommandFixture.with(Self.file("max-age=3600")) { fixture in
      _ = try await get(fixture)
      let same = try await get(fixture)
      #expect(same["cache"]?.string == "hit")
      #expect(same["reused"] == .integer(CommandFixture.length))
      #expect(try await get(fixture, "--if-exists", "rename")["path"]?.string == "file (1).bin")
      try Data([1]).write(to: URL(filePath: fixture.path("own.bin")))
      let url = fixture.server.url("/file.bin")
      let refused = try await fixture.haul(["get", "--json", "--cache", url, "-o", "own.bin"])
      try refused.expectFailed(.nameConflict)
      #expect(try fixture.contents("own.bin") == [1])
      // The server is asked whether it has that file.
      #expect(fixture.server.snapshot.requests.map(\.status) == [206, 304])
    }
  }

  @Test
  func `A fresh copy does not replace a newer file: the server is asked, and decides`() async throws
  {
    try await CommandFixture.with(Self.file("max-age=3600")) { fixture in
      _ = try await get(fixture, "-o", "other.bin")
      fixture.server.update("/file.bin") {
        $0.seed = 9
        $0.entityTag = FaultScript.Resource.strongTag(seed: 9)
        $0.lastModified = FaultScript.Resource.oldDate + 1000
      }
      #expect(try await fixture.get().status == 0)
      try fixture.expectWhole(seed: 9)
      let again = try await get(fixture)
      #expect(again["cache"]?.string == "miss")
      #expect(again["reused"] == .integer(CommandFixture.length))
      try fixture.expectWhole(seed: 9)
      // The copy is that of the server again.
      fixture.server.update("/file.bin") {
        $0.seed = CommandFixture.seed
        $0.entityTag = FaultScript.Resource.strongTag(seed: CommandFixture.seed)
        $0.lastModified = FaultScript.Resource.oldDate
      }
      let back = try await get(fixture)
      #expect(back["cache"]?.string == "revalidated")
      try fixture.expectWhole()
    }
  }

  @Test(arguments: [["--if-exists", "overwrite"], ["--start-over"]])
  func `A newer file is not replaced by an older copy, although it may be replaced`(
    options: [String]
  ) async throws {
    try await CommandFixture.with(Self.file("max-age=3600", length: 1000)) { fixture in
      _ = try await get(fixture, "-o", "other.bin")
      fixture.server.update("/file.bin") {
        $0.seed = 9
        $0.entityTag = FaultScript.Resource.strongTag(seed: 9)
        $0.lastModified = FaultScript.Resource.oldDate + 1000
      }
      #expect(try await fixture.get().status == 0)
      #expect(try await get(fixture, options)["cache"]?.string == "miss")
      try fixture.expectWhole(length: 1000, seed: 9)
    }
  }

  @Test
  func `A body without the digest that the server states fails, and is not stored`() async throws {
    let wrong = FaultScript.Resource("/file.bin", seed: CommandFixture.seed, length: 1000).with {
      let digest = Data(SeededContent.sha256(seed: 9, length: 1000)).base64EncodedString()
      $0.headers = ["Cache-Control: max-age=3600", "Repr-Digest: sha-256=:\(digest):"]
    }
    try await CommandFixture.with(wrong) { fixture in
      let url = fixture.server.url("/file.bin")
      let failed = try await fixture.haul(["get", "--json", "--cache", "--retries", "0", url])
      try failed.expectFailed(.checksumMismatch)
      fixture.server.update("/file.bin") { $0.headers = ["Cache-Control: max-age=3600"] }
      #expect(try await get(fixture)["cache"]?.string == "miss")
      try fixture.expectWhole(length: 1000)
      #expect(try await get(fixture, "-o", "2")["cache"]?.string == "hit")
    }
  }

  @Test func `Without a lifetime and a date, a copy is confirmed before each use`() async throws {
    let file = CommandFixture.file(length: 1000).with { $0.lastModified = nil }
    try await CommandFixture.with(file) { fixture in
      _ = try await get(fixture)
      #expect(try await get(fixture, "-o", "2")["cache"]?.string == "revalidated")
      fixture.server.update("/file.bin") {
        $0.entityTag = nil
        $0.seed = 9
      }
      #expect(try await get(fixture, "-o", "3")["cache"]?.string == "miss")
      #expect(try await get(fixture, "-o", "4")["cache"]?.string == "miss")
      try fixture.expectWhole("4", length: 1000, seed: 9)
    }
  }

  @Test func `What came through a proxy is not used without it`() async throws {
    try await CommandFixture.with(Self.file("max-age=3600", length: 1000)) { fixture in
      let proxy = fixture.server.url("")
      let first = try await get(fixture, "--proxy", proxy, "-o", "1")
      #expect(first["cache"]?.string == "miss")
      #expect(try await get(fixture, "-o", "2")["cache"]?.string == "miss")
      #expect(try await get(fixture, "--proxy", proxy, "-o", "3")["cache"]?.string == "hit")
      #expect(try await get(fixture, "-o", "4")["cache"]?.string == "hit")
      #expect(try await count(fixture) == .integer(2))
    }
  }

  @Test
  func `If the cache cannot be used, the file is downloaded without it, and a line says so`()
    async throws
  {
    try await CommandFixture.with(Self.file("max-age=3600")) { fixture in
      _ = try await get(fixture)
      let url = fixture.server.url("/file.bin")
      try await fixture.holdingCache {
        let result = try await fixture.haul(["get", "--json", "--cache", url, "-o", "2"])
        #expect(result.status == 0, "\(result.errors)")
        let end = try #require(try result.events().finished.first)
        #expect(end["cache"]?.string == "unavailable")
        #expect(end["fetched"] == .integer(CommandFixture.length))
        let note = "haul: the cache is not used: another process is using the cache directory"
        #expect(result.errors.contains(note), "\(result.errors)")
        let cached = ["-H", "Cache-Control: only-if-cached"]
        let refused = try await fixture.haul(["get", "--cache", url, "-o", "3"] + cached)
        #expect(refused.status == 1)
      }
      #expect(fixture.server.snapshot.requests.count == 2)
      try fixture.expectWhole("2")
      try Data().write(to: URL(filePath: fixture.path("file")))
      let none = try await fixture.haul(
        ["get", "--cache", url, "-o", "4"],
        environment: ["XDG_CACHE_HOME": fixture.path("file")])
      #expect(none.status == 0, "\(none.errors)")
      #expect(none.errors.contains("haul: the cache is not used: "), "\(none.errors)")
    }
  }

  @Test func `A copy without the digest of --checksum is not used`() async throws {
    try await CommandFixture.with(Self.file("max-age=3600")) { fixture in
      func digest(_ seed: UInt64) -> String {
        "sha-256=\(SeededContent.sha256Hex(seed: seed, length: CommandFixture.length))"
      }
      _ = try await get(fixture)
      let known = try await get(
        fixture, "-o", "2", "--checksum", digest(CommandFixture.seed))
      #expect(known["cache"]?.string == "hit")
      #expect(known["verified"]?.string == "checksum")
      let wrong = try await fixture.haul([
        "get", "--json", "--cache", fixture.server.url("/file.bin"), "-o", "3", "--checksum",
        digest(9),
      ])
      try wrong.expectFailed(.checksumMismatch)
      fixture.server.update("/file.bin") {
        $0.seed = 9
        $0.entityTag = FaultScript.Resource.strongTag(seed: 9)
      }
      let newer = try await get(fixture, "-o", "4", "--checksum", digest(9))
      #expect(newer["cache"]?.string == "miss")
      try fixture.expectWhole("4", seed: 9)
      #expect(!(try fixture.names().contains("3")))
    }
  }
}
