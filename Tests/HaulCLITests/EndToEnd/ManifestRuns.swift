import Foundation
import HaulCore
import HaulTesting
import Testing

/// Runs of `haul get --manifest`.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ManifestRuns {
  private static let paths = ["/a.bin", "/b.bin", "/c.bin"]

  func with(_ body: (CommandFixture) async throws -> Void) async throws {
    let files = Self.paths.map { CommandFixture.file($0, length: 40_000) }
    let store = FaultScript.Resource("/bucket/", length: 0).with { $0.service = .s3 }
    try await CommandFixture.with(files + [store]) { (fixture) async throws in
      let list = Self.paths.map { fixture.server.url($0) + "?sig=canary" }.joined(separator: "\n")
      try Data(list.utf8).write(to: URL(filePath: fixture.path("list.txt")))
      try await body(fixture)
    }
  }

  private func get(
    _ fixture: CommandFixture, _ more: String..., key: String = "id"
  ) async throws -> CommandResult {
    try await fixture.haul(
      ["get", "-i", "list.txt", "--manifest", "done.jsonl"] + more,
      environment: [
        "AWS_ENDPOINT_URL_S3": fixture.server.origin, "AWS_ACCESS_KEY_ID": key,
        "AWS_SECRET_ACCESS_KEY": "secret/+", "XDG_STATE_HOME": fixture.path("state"),
      ])
  }

  private func lines(_ fixture: CommandFixture) throws -> [JSONValue] {
    try String(decoding: fixture.contents("done.jsonl"), as: UTF8.self).split(separator: "\n")
      .map { try JSONValue(parsing: String($0)) }
  }

  private func asked(_ fixture: CommandFixture) -> Set<String> {
    Set(fixture.server.snapshot.requests.map(\.path))
  }

  @Test func `the next run asks only for what is not complete`() async throws {
    try await with { (fixture) async throws in
      fixture.server.setFaults("/b.bin", [.always(.status(404))])
      #expect(try await get(fixture).status == 1)
      let first = try lines(fixture)
      #expect(first.first?["files"] == .integer(3))
      #expect(
        first.compactMap { $0["state"]?.string }.sorted() == ["completed", "completed", "failed"])
      let failed = try #require(first.first { $0["state"]?.string == "failed" })
      #expect(failed["code"]?.string == "not-found" && failed["retryable"] == .bool(false))
      let sum = try await fixture.haul(["manifest", "done.jsonl"])
      #expect(sum.status == 1)
      #expect(sum.output == "3 files: 2 complete (78.1 KiB), 1 failed\n1  not-found\n")
      let again = try await fixture.haul(["manifest", "--failed", "done.jsonl"])
      #expect(try JSONValue(parsing: again.output) == failed)

      fixture.server.setFaults("/b.bin", [])
      let before = fixture.server.snapshot.requests.count
      let second = try await get(fixture)
      #expect(
        second.status == 0 && second.errors.contains("2 of 3 files are complete, by done.jsonl"))
      #expect(Set(fixture.server.snapshot.requests.dropFirst(before).map(\.path)) == ["/b.bin"])
      let whole = try await fixture.haul(["manifest", "--json", "done.jsonl"])
      #expect(whole.status == 0)
      #expect(
        try JSONValue(parsing: whole.output)
          == JSONValue(
            parsing:
              #"{"files":3,"completed":3,"unverified":0,"failed":0,"missing":0,"#
              + #""bytes":120000,"codes":{}}"#))

      let last = try await get(fixture)
      #expect(last.status == 0 && last.errors.contains("all files are complete"))
      #expect(
        !String(decoding: try fixture.contents("done.jsonl"), as: UTF8.self).contains("canary"))
    }
  }

  @Test
  func `a file that was removed or changed is fetched again, and so is one whose line is torn`()
    async throws
  {
    try await with { (fixture) async throws in
      #expect(try await get(fixture).status == 0)
      try FileManager.default.removeItem(atPath: fixture.path("a.bin"))
      try Data([1]).write(to: URL(filePath: fixture.path("b.bin")))
      let before = fixture.server.snapshot.requests.count
      #expect(try await get(fixture, "--if-exists", "overwrite").status == 0)
      #expect(
        Set(fixture.server.snapshot.requests.dropFirst(before).map(\.path)) == ["/a.bin", "/b.bin"])
      try fixture.expectWhole("a.bin", length: 40_000)

      let text = try fixture.contents("done.jsonl")
      try Data(text.dropLast(2)).write(to: URL(filePath: fixture.path("done.jsonl")))
      #expect(try await get(fixture).status == 0)
      let sum = try await fixture.haul(["manifest", "done.jsonl"])
      #expect(sum.status == 0 && sum.output.hasPrefix("3 files: 3 complete"))
    }
  }

  @Test func `A file that was damaged since, with its length, is not complete`() async throws {
    try await with { (fixture) async throws in
      let digest = SeededContent.sha256(seed: CommandFixture.seed, length: 40_000)
      let checksum = try #require(Checksum(.sha256, bytes: digest))
      let rows = ["/a.bin\n  checksum=\(checksum)", "/b.bin"].map { fixture.server.url($0) }
      try Data(rows.joined(separator: "\n").utf8).write(to: URL(filePath: fixture.path("list.txt")))
      #expect(try await get(fixture).status == 0)
      for name in ["a.bin", "b.bin"] {
        try Data(count: 40_000).write(to: URL(filePath: fixture.path(name)))
      }
      let before = fixture.server.snapshot.requests.count
      let again = try await get(fixture, "--if-exists", "overwrite")
      #expect(again.status == 0, "\(again.errors)")
      #expect(
        Set(fixture.server.snapshot.requests.dropFirst(before).map(\.path)) == ["/a.bin", "/b.bin"])
      for name in ["a.bin", "b.bin"] { try fixture.expectWhole(name, length: 40_000) }
      #expect(try await get(fixture).errors.contains("all files are complete"))
    }
  }

  @Test func `what is on a store is not asked for`() async throws {
    try await with { (fixture) async throws in
      #expect(try await get(fixture, "-o", "s3://bucket/{index}").status == 0)
      #expect(
        fixture.server.files(below: "/bucket/").keys.sorted() == [
          "/bucket/1", "/bucket/2", "/bucket/3",
        ])
      let count = fixture.server.snapshot.requests.count
      for key in ["id", "the-next-key"] {
        #expect(try await get(fixture, "-o", "s3://bucket/{index}", key: key).status == 0)
        #expect(fixture.server.snapshot.requests.count == count)
      }
      #expect(try await get(fixture, "-o", "s3://bucket/other/").status == 0)
      let files = fixture.server.files(below: "/bucket/").keys
      #expect(files.count { $0.hasPrefix("/bucket/other/") } == 3)
    }
  }

  @Test func `What was compared with its digest before it was stored counts as checked`()
    async throws
  {
    try await with { (fixture) async throws in
      let digest = SeededContent.sha256(seed: CommandFixture.seed, length: 40_000)
      let checksum = try #require(Checksum(.sha256, bytes: digest))
      try Data("\(fixture.server.url("/a.bin"))\n  checksum=\(checksum)\n".utf8).write(
        to: URL(filePath: fixture.path("list.txt")))
      #expect(try await get(fixture, "-o", "s3://bucket/x/").status == 0)
      #expect(try lines(fixture).last?["checksum"]?.string == checksum.description)
      let count = fixture.server.snapshot.requests.count
      #expect(try await get(fixture, "-o", "s3://bucket/x/").status == 0)
      #expect(fixture.server.snapshot.requests.count == count)
    }
  }

  @Test
  func `a directory has a manifest for each list; what cannot be one is refused`() async throws {
    try await with { (fixture) async throws in
      try FileManager.default.createDirectory(
        atPath: fixture.path("m"), withIntermediateDirectories: true)
      #expect(try await fixture.haul(["get", "-i", "list.txt", "--manifest", "m/"]).status == 0)
      #expect(FileManager.default.fileExists(atPath: fixture.path("m/list.jsonl")))
      let sum = try await fixture.haul(["manifest", "m"])
      #expect(sum.status == 0 && sum.output.hasPrefix("3 files: 3 complete"))
      for manifest in ["m", "list.txt/such", "/dev/null"] {
        let result = try await fixture.haul(["get", "-i", "list.txt", "--manifest", manifest])
        #expect(result.status == 1 && result.errors.contains("the manifest \(manifest)"))
      }
      for manifest in ["no/such", "list.txt", "a.bin"] {
        #expect(try await fixture.haul(["manifest", manifest]).status == 1)
      }
      let other = try await fixture.haul(["manifest", "list.txt"])
      #expect(other.output == "" && other.errors.contains("list.txt is no manifest"))
      try Data().write(to: URL(filePath: fixture.path("empty")))
      #expect(try await fixture.haul(["manifest", "empty"]).status == 0)
      let url = fixture.server.url("/a.bin")
      #expect(try await fixture.haul(["get", url, "--manifest", "m/"]).status == 2)
      #expect(try await fixture.haul(["get", url, "-o", "-", "--manifest", "x"]).status == 2)
    }
  }

  @Test
  func `what was not checked, what may be wrong, and what is another's, does not count`()
    async throws
  {
    try await with { (fixture) async throws in
      let get = ["get", fixture.server.url("/a.bin"), "--manifest", "one.jsonl"]
      #expect(try await fixture.haul(get).status == 0)
      let wrong = "md5=" + String(repeating: "0", count: 32)
      let checked = try await fixture.haul(get + ["--checksum", wrong])
      #expect(checked.status == 1 && checked.errors.contains("does not match"), "\(checked.errors)")

      fixture.server.setFaults(
        "/b.bin",
        [Fault(.status(200, headers: ["Content-Type: text/html"], body: "<html>log in"))])
      let page = ["get", fixture.server.url("/b.bin"), "-d", "p", "--manifest", "page.jsonl"]
      // The status of a run, its manifest and its metrics agree.
      #expect(try await fixture.haul(page + ["--metrics-file", "m.prom"]).status == 1)
      let metrics = String(decoding: try fixture.contents("m.prom"), as: UTF8.self)
      for line in [
        #"haul_transfers{state="completed"} 0.0"#, #"haul_transfers{state="failed"} 1.0"#,
        #"haul_ended_total{state="failed"} 1"#, #"haul_failed_total{code="web-page"} 1"#,
      ] { #expect(metrics.contains(line + "\n"), "\(line) is not in \(metrics)") }
      let sum = try await fixture.haul(["manifest", "page.jsonl"])
      #expect(sum.status == 1 && sum.output.hasSuffix("1  web-page\n"))

      fixture.server.setFaults("/c.bin", [Fault(.ignoreRange, .closeDelimited())])
      let open = ["get", fixture.server.url("/c.bin"), "-d", "o", "--manifest", "open.jsonl"]
      #expect(try await fixture.haul(open).status == 1)
      let doubt = try await fixture.haul(["manifest", "open.jsonl"])
      #expect(doubt.status == 1 && doubt.output.hasSuffix("1  unverified\n"))
      #expect(try await fixture.haul(open + ["--allow-unverified"]).status == 0)
      let allowed = try await fixture.haul(["manifest", "open.jsonl"])
      #expect(allowed.status == 0)
      #expect(allowed.output == "1 files: 1 complete (39.1 KiB), 1 of them unverified\n")
      // It was not allowed this time.
      #expect(try await fixture.haul(open).status == 1)

      try FileManager.default.createSymbolicLink(
        atPath: fixture.path("link"), withDestinationPath: "target")
      let linked = try await fixture.haul(
        ["get", fixture.server.url("/a.bin"), "--manifest", "link"])
      #expect(linked.status == 1 && linked.errors.contains("the manifest link"))
      #expect(!FileManager.default.fileExists(atPath: fixture.path("target")))

      // The same relative path in another directory is another file.
      try FileManager.default.createDirectory(
        atPath: fixture.path("sub"), withIntermediateDirectories: true)
      let there = ["get", fixture.server.url("/a.bin"), "--manifest", "../one.jsonl"]
      let run = try await CommandRun(there, in: fixture.path("sub"))
      #expect(await run.end().status == 0)
      #expect(FileManager.default.fileExists(atPath: fixture.path("sub/a.bin")))
    }
  }

  @Test func `A path of two addresses is a conflict, and the second is not complete`() async throws
  {
    let files = ["/a/x", "/b/x"].map { CommandFixture.file($0, length: 40_000) }
    try await CommandFixture.with(files) { (fixture) async throws in
      // As two tasks of a job into one directory.
      for (number, path) in ["/a/x", "/b/x"].enumerated() {
        let url = fixture.server.url(path)
        let get = ["get", url, "-d", "data", "--if-exists", "overwrite"]
        let result = try await fixture.haul(get + ["--manifest", "m\(number).jsonl"])
        #expect(result.status == 0, "\(result.errors)")
      }
      let sum = try await fixture.haul(["manifest", "m0.jsonl", "m1.jsonl"])
      #expect(sum.status == 1)
      #expect(
        sum.output.hasPrefix("2 files: 1 complete (39.1 KiB), 1 failed\n1  name-conflict\n"))
      #expect(sum.output.contains(fixture.path("data/x")), "\(sum.output)")
      let failed = try await fixture.haul(["manifest", "--failed", "m0.jsonl", "m1.jsonl"])
      #expect(try JSONValue(parsing: failed.output)["code"]?.string == "name-conflict")
      #expect(try await fixture.haul(["manifest", "m0.jsonl"]).status == 0)
    }
  }

  @Test func `Missing directories of a manifest are made`() async throws {
    try await with { (fixture) async throws in
      let get = ["get", "-i", "list.txt", "--manifest"]
      #expect(try await fixture.haul(get + ["deep/er/m.jsonl"]).status == 0)
      #expect(try await fixture.haul(get + ["per/list/"]).status == 0)
      #expect(try fixture.names("deep/er") == ["m.jsonl"])
      #expect(try fixture.names("per/list") == ["list.jsonl"])
    }
  }

  @Test func `A line has no secret of an address, and still counts for it`() async throws {
    try await with { (fixture) async throws in
      let url = fixture.server.url("/a.bin").replacing("://", with: "://user:canary@")
      let get = ["get", url + "?token=canary", "--manifest", "m.jsonl"]
      #expect(try await fixture.haul(get).status == 0)
      let text = String(decoding: try fixture.contents("m.jsonl"), as: UTF8.self)
      #expect(!text.contains("canary") && text.contains("/a.bin?token=***"), "\(text)")
      let count = fixture.server.snapshot.requests.count
      let second = try await fixture.haul(get)
      #expect(second.status == 0 && second.errors.contains("all files are complete"))
      #expect(fixture.server.snapshot.requests.count == count)
    }
  }

  @Test func `A part file that another run left beside a complete file is taken up`() async throws {
    try await with { (fixture) async throws in
      #expect(try await get(fixture).status == 0)
      // As a run that began at the same time leaves it, killed while it replaces the file.
      try Data([1]).write(to: URL(filePath: fixture.path("a.bin.haul.part")))
      let second = try await get(fixture)
      #expect(second.errors.contains("2 of 3 files are complete"), "\(second.errors)")
      try fixture.expectWhole("a.bin", length: 40_000)
    }
  }

  @Test func `A failure counts after a complete line if its run began later`() async throws {
    try await with { (fixture) async throws in
      #expect(try await get(fixture).status == 0)
      try FileManager.default.removeItem(atPath: fixture.path("a.bin"))
      fixture.server.setFaults("/a.bin", [.always(.status(404))])
      #expect(try await get(fixture).status == 1)
      let failed = try await fixture.haul(["manifest", "done.jsonl"])
      #expect(failed.status == 1)
      #expect(failed.output == "3 files: 2 complete (78.1 KiB), 1 failed\n1  not-found\n")
      // The next run agrees, also if a file of that length is there.
      try Data(count: 40_000).write(to: URL(filePath: fixture.path("a.bin")))
      #expect(try await get(fixture).status == 1)

      // As if all runs had begun at the same time.
      let lines = String(decoding: try fixture.contents("done.jsonl"), as: UTF8.self)
        .split(separator: "\n")
      let isBeginning = { (line: Substring) in line.hasPrefix(#"{"files":"#) }
      let overlapping = lines.filter(isBeginning) + lines.filter { !isBeginning($0) }
      try Data((overlapping.joined(separator: "\n") + "\n").utf8)
        .write(to: URL(filePath: fixture.path("done.jsonl")))
      let whole = try await fixture.haul(["manifest", "done.jsonl"])
      #expect(whole.status == 0 && whole.output.hasPrefix("3 files: 3 complete (117.2 KiB)"))
      // One manifest says nothing against another one.
      try Data((lines.last { $0.contains("not-found") } ?? "").utf8 + [0x0A])
        .write(to: URL(filePath: fixture.path("other.jsonl")))
      #expect(try await fixture.haul(["manifest", "done.jsonl", "other.jsonl"]).status == 0)
      // But the file that is there is not the one that it tells of.
      #expect(try await get(fixture).errors.contains("2 of 3 files are complete"))
    }
  }

  @Test func `A path counts as the file that it names, however it is written`() async throws {
    try await with { (fixture) async throws in
      let get = ["get", fixture.server.url("/a.bin"), "--manifest", "m.jsonl"]
      #expect(try await fixture.haul(get + ["-o", ".//a.bin"]).status == 0)
      let count = fixture.server.snapshot.requests.count
      for place in [["-o", "a.bin"], ["-d", "./"], ["-d", "."], ["-d", fixture.path("./")]] {
        let again = try await fixture.haul(get + place)
        #expect(again.errors.contains("all files are complete"), "\(place): \(again.errors)")
      }
      #expect(fixture.server.snapshot.requests.count == count)
      let sum = try await fixture.haul(["manifest", "m.jsonl"])
      #expect(sum.status == 0 && sum.output.hasPrefix("1 files: 1 complete"))
    }
  }

  @Test func `A task that never began is missing, if its list is known`() async throws {
    try await with { (fixture) async throws in
      let split = ["split", "list.txt", "--shards", "3", "--by", "lines", "--max-per-host", "3"]
      #expect(try await fixture.haul(split + ["-o", "shards"]).status == 0)
      func task(_ number: Int) async throws -> Int32 {
        let get = ["get", "-i", "shards/\(number).txt", "--manifest", "done/"]
        return try await fixture.haul(get).status
      }
      func sum(_ more: String...) async throws -> CommandResult {
        try await fixture.haul(["manifest", "done"] + more)
      }
      for number in 0..<2 { #expect(try await task(number) == 0) }
      #expect(try await sum().status == 0)
      for list in ["shards", "list.txt"] {
        let missing = try await sum("-i", list)
        #expect(missing.status == 1)
        #expect(missing.output == "3 files: 2 complete (78.1 KiB), 1 missing\n")
      }
      fixture.server.setFaults("/c.bin", [.always(.status(404))])
      #expect(try await task(2) == 1)
      let failed = try await sum("-i", "shards")
      #expect(failed.output == "3 files: 2 complete (78.1 KiB), 1 failed\n1  not-found\n")
      fixture.server.setFaults("/c.bin", [])
      #expect(try await task(2) == 0)
      #expect(try await sum("-i", "shards").status == 0)

      // Another manifest of the same files makes no more of them.
      #expect(try await get(fixture).status == 0)
      #expect(try await sum("done.jsonl").status == 1)
      let whole = try await sum("done.jsonl", "-i", "shards")
      #expect(whole.status == 0 && whole.output == "3 files: 3 complete (117.2 KiB)\n")
      for wrong in [["-i", "shards", "--columns", "url=x"], ["--columns", "url=x"]] {
        #expect(try await fixture.haul(["manifest", "done"] + wrong).status == 2)
      }
    }
  }

  @Test func `A file of another kind is no manifest, and stays as it is`() async throws {
    try await with { (fixture) async throws in
      let list = try fixture.contents("list.txt")
      let get = ["get", "-i", "list.txt", "--manifest"]
      let result = try await fixture.haul(get + ["list.txt"])
      #expect(result.status == 1 && result.errors.contains("list.txt is no manifest"))
      try Data("no line".utf8).write(to: URL(filePath: fixture.path("notes.md")))
      #expect(try await fixture.haul(get + ["notes.md"]).status == 1)
      #expect(try fixture.contents("list.txt") == list)
      #expect(try fixture.contents("notes.md") == Array("no line".utf8))
      #expect(fixture.server.snapshot.requests.isEmpty)
      // The disk was full when the first line was written.
      try Data(#"{"fil"#.utf8).write(to: URL(filePath: fixture.path("torn.jsonl")))
      #expect(try await fixture.haul(get + ["torn.jsonl"]).status == 0)
      #expect(try await fixture.haul(["manifest", "torn.jsonl"]).status == 0)
    }
  }
}
