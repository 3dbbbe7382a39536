import Foundation
import HaulTesting
import Testing

/// Split.
@Suite(.serialized, .timeLimit(.minutes(10))) struct SplitRuns {
  private func write(_ text: String, to name: String, _ fixture: CommandFixture) throws {
    try Data(text.utf8).write(to: URL(filePath: fixture.path(name)))
  }

  private func text(_ name: String, _ fixture: CommandFixture) throws -> String {
    String(decoding: try fixture.contents(name), as: UTF8.self)
  }

  @Test func `Shards are lists of the same form, with the limits of their hosts`() async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let rows = ["http://a/1", "http://b/1", "http://a/2", "http://a/3"]
      try write("url,n\r\n" + rows.map { "\($0),\"x\ny\"\r\n" }.joined(), to: "l.csv", fixture)
      try write(rows.map { #"{"url":"\#($0)"}"# }.joined(separator: "\n"), to: "l.jsonl", fixture)
      try write(rows.joined(separator: "\n  out=x\n"), to: "l", fixture)
      for list in ["l.csv", "l.jsonl", "l"] {
        let result = try await fixture.haul(
          ["split", list, "--shards", "2", "--max-per-host", "3", "-o", "deep/\(list)"])
        #expect(result.status == 0, "\(result.errors)")
      }
      let names = try fixture.names("deep/l.csv") + fixture.names("deep/l")
      #expect(names == ["0.csv", "1.csv", "0.txt", "1.txt"])
      #expect(
        try text("deep/l.csv/0.csv", fixture)
          == "url,n,max-per-host\r\nhttp://a/1,\"x\ny\",2\r\nhttp://a/2,\"x\ny\",2\r\n")
      #expect(
        try text("deep/l.jsonl/1.jsonl", fixture) == #"""
          {"url":"http://b/1","max-per-host":3}
          {"url":"http://a/3","max-per-host":1}

          """#)
      #expect(
        try text("deep/l/1.txt", fixture)
          == "http://b/1\n  out=x\n  max-per-host=3\nhttp://a/3\n  max-per-host=1\n")
      #expect(try fixture.names("deep") == ["l", "l.csv", "l.jsonl"])
    }
  }

  @Test func `Names that two addresses share are counted`() async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      try write("http://a/1\nhttp://b/1\nhttp://b/2\n  dir=d\nhttp://a/2\n", to: "l", fixture)
      let result = try await fixture.haul(["split", "l", "--shards", "2", "-o", "d"])
      #expect(result.status == 0)
      #expect(
        result.errors.contains("rows with the file name of another address: 1, such as 1"),
        "\(result.errors)")
    }
  }

  @Test func `The host of an object is its bucket`() async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      try write("s3://a/1\ns3://b/1\ns3://a/2\ns3://a/3\n", to: "l", fixture)
      func split(_ more: String...) async throws -> CommandResult {
        try await fixture.haul(["split", "l", "--shards", "2", "--max-per-host", "3"] + more)
      }
      let result = try await split("-o", "d")
      #expect(result.status == 0, "\(result.errors)")
      #expect(
        try text("d/0.txt", fixture)
          == "s3://a/1\n  max-per-host=2\ns3://a/2\n  max-per-host=2\n")
      #expect(
        try text("d/1.txt", fixture)
          == "s3://b/1\n  max-per-host=3\ns3://a/3\n  max-per-host=1\n")
      try write("s3://a/1\ns3://a/dir/\n", to: "l", fixture)
      let wrong = try await split("-o", "e")
      #expect(wrong.status == 2 && wrong.errors.contains("l: line 2: that is no object"))
    }
  }

  @Test func `A directory with the same shards stays, and one with others is refused`()
    async throws
  {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      try write("http://a/1\nhttp://b/2\n", to: "l", fixture)
      func split(_ more: String...) async throws -> CommandResult {
        try await fixture.haul(["split", "l", "-o", "d/"] + more)
      }
      try FileManager.default.createDirectory(
        atPath: fixture.path("d"), withIntermediateDirectories: true)
      #expect(try await split("--shards", "2").status == 0)
      #expect(try await split("--shards", "2").status == 0)
      let other = try await split("--shards", "3")
      #expect(other.status == 1 && other.errors.contains("d is not empty"), "\(other.errors)")
      try write("x", to: "d/note", fixture)
      #expect(try await split("--shards", "2").status == 1)
      #expect(try fixture.names() == ["d", "l"])
      #expect(try text("d/0.txt", fixture) == "http://a/1\n")
    }
  }

  @Test(arguments: [
    ("url\nhttp://a/1\nnone\n", "l.csv: line 3: "),
    ("url\nhttp://a/1,2\n", "l.csv: line 2: it has 2 values"),
    ("link\nhttp://a/1\n", "l.csv: line 1: the first line has the names"),
    ("url,max-per-host\nhttp://a/1,2\n", "l.csv: line 2: it has max-per-host"),
    ("url\n", "it contains no URL"),
  ])
  func `A list that cannot be read names the line, and no shard is written`(
    list: String, message: String
  ) async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      try write(list, to: "l.csv", fixture)
      let result = try await fixture.haul(["split", "l.csv", "--shards", "2", "-o", "d"])
      #expect(result.status == 2 && result.errors.contains(message), "\(result.errors)")
      let sized = try await fixture.haul(
        ["split", "l.csv", "--shards", "2", "--by", "bytes", "-o", "d"])
      #expect(sized.status == 2)
      #expect(try fixture.names() == ["l.csv"])
    }
  }

  @Test func `The tasks of a job fetch all files once, and the second job only what failed`()
    async throws
  {
    let files = (0..<6).map { CommandFixture.file("/\($0).bin", length: 10_000) }
    try await CommandFixture.with(files) { fixture in
      let rows = files.map { #"{"url":"\#(fixture.server.url($0.path))?token=canary"}"# }
      try write(rows.joined(separator: "\n") + "\n", to: "l.jsonl", fixture)
      fixture.server.setFaults("/3.bin", [.always(.status(404))])
      func job(_ directory: String, _ count: Int) async throws -> [Int32] {
        var statuses: [Int32] = []
        for task in 0..<count {
          let result = try await fixture.haul([
            "get", "--worker", "-i", "\(directory)/\(task).jsonl", "-d", "out", "--manifest",
            "done/",
          ])
          statuses.append(result.status)
        }
        return statuses
      }
      let split = ["split", "l.jsonl", "--shards", "4", "--max-per-host", "3", "-o", "s"]
      #expect(try await fixture.haul(split).status == 0)
      // One host in at most three shards: a task has nothing to do.
      #expect(try await job("s", 4).sorted() == [0, 0, 0, 1])
      let again = ["split", "l.jsonl", "--failed", "done", "--shards", "1", "-o", "again"]
      #expect(try await fixture.haul(again).status == 0)
      #expect(try text("again/0.jsonl", fixture) == rows[3] + "\n")
      // The manifest alone does not have the token.
      let alone = try await fixture.haul(["split", "--failed", "done", "--shards", "1", "-o", "x"])
      #expect(alone.status == 2 && alone.errors.contains("give the lists too"))
      #expect(!alone.errors.contains("canary"))
      fixture.server.setFaults("/3.bin", [])
      let before = fixture.server.snapshot.requests.count
      #expect(try await job("again", 1) == [0])
      #expect(
        Set(fixture.server.snapshot.requests.dropFirst(before).map(\.path)) == ["/3.bin"])
      let last = try await fixture.haul(
        ["split", "l.jsonl", "--failed", "done", "--shards", "1", "-o", "none"])
      #expect(last.status == 0 && last.errors.contains("all files are complete"))
      #expect(try fixture.names() == ["again", "done", "l.jsonl", "out", "s"])
    }
  }

  @Test func `Without lists the failed addresses are split, and a line counts the missing ones`()
    async throws
  {
    try await CommandFixture.with(CommandFixture.file("/a.bin", .always(.status(404)))) { fixture in
      let url = fixture.server.url("/a.bin")
      let get = ["get", url, fixture.server.url("/none.bin"), "--manifest", "m.jsonl"]
      #expect(try await fixture.haul(get).status == 1)
      let lines = try text("m.jsonl", fixture).split(separator: "\n")
      let one = lines.filter { !$0.contains("none.bin") }
      try write(one.joined(separator: "\n") + "\n", to: "m.jsonl", fixture)
      let result = try await fixture.haul(
        ["split", "--failed", "m.jsonl", "--shards", "2", "--max-per-host", "9", "-o", "d"])
      #expect(result.status == 0 && result.errors.contains("missing in the manifests: 1"))
      let warning = "without out, dir, checksum, headers and credentials; give the lists"
      #expect(result.errors.contains(warning))
      let row = try JSONValue(parsing: try text("d/0.jsonl", fixture))
      #expect(row["url"]?.string == url && row["max-per-host"] == .integer(9))
      #expect(try text("d/1.jsonl", fixture) == "")
    }
  }

  /// A line of a manifest, of a file on a server.
  private func line(_ number: Int, _ state: String, time: Int) -> String {
    let id = "00000000000000000000000000000000" + String(number, radix: 16)
    let code = state == "failed" ? "\"not-found\"" : "null"
    return #"{"id":"\#(id.suffix(32))","state":"\#(state)","url":"http://a/\#(number)","#
      + #""target":"/t/\#(number)","path":null,"code":\#(code),"message":null,"#
      + #""retryable":null,"bytes":10,"checksum":null,"verified":"length","modified":null,"#
      + #""attempts":1,"seconds":0.5,"time":\#(time)}"# + "\n"
  }

  @Test func `Of long manifests, each file that failed is split once, in the order of the ends`()
    async throws
  {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let numbers = Array(1...3000)
      // Each file that a number of ten names has failed; the ends are in no order.
      var lines = "{\"files\":3000}\n"
      for number in numbers.reversed() {
        lines += line(number, number % 10 == 0 ? "failed" : "completed", time: number)
      }
      // A second run completes some of them; one fails again, and one that was complete.
      lines += "{\"files\":3000}\n" + line(20, "completed", time: 4000)
      lines += line(30, "failed", time: 4001) + line(7, "failed", time: 4002)
      try write(lines, to: "m.jsonl", fixture)
      // Another manifest: one more is complete, and a failure says nothing against it.
      let other = line(40, "completed", time: 5000) + line(41, "failed", time: 5001)
      try write("{\"files\":2}\n\(other)", to: "n.jsonl", fixture)
      let failed = numbers.filter { $0 % 10 == 0 && ![20, 30, 40].contains($0) } + [30, 7]
      let manifests = ["--failed", "m.jsonl", "--failed", "n.jsonl"]
      let split = try await fixture.haul(["split", "--shards", "1", "-o", "d"] + manifests)
      #expect(split.status == 0, "\(split.errors)")
      let rows = failed.map { #"{"url":"http://a/\#($0)"}"# + "\n" }.joined()
      #expect(try text("d/0.jsonl", fixture).replacing("\\/", with: "/") == rows)
      let printed = try await fixture.haul(["manifest", "--failed", "m.jsonl", "n.jsonl"])
      let urls = try printed.output.split(separator: "\n")
        .map { try JSONValue(parsing: String($0))["url"]?.string }
      #expect(urls == failed.map { "http://a/\($0)" })
      let sum = try await fixture.haul(["manifest", "m.jsonl", "n.jsonl"])
      #expect(
        sum.output.hasPrefix("3002 files: 2701 complete (26.4 KiB), 299 failed, 2 missing\n"),
        "\(sum.output)")

      // With the list, in its order.
      try write(numbers.map { "http://a/\($0)\n" }.joined(), to: "l", fixture)
      let listed = try await fixture.haul(["split", "l", "--shards", "1", "-o", "e"] + manifests)
      #expect(listed.status == 0, "\(listed.errors)")
      #expect(
        try text("e/0.txt", fixture) == failed.sorted().map { "http://a/\($0)\n" }.joined())
    }
  }

  @Test func `An address of two files is split again if one of them is missing`() async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let rows = ["http://a/1,a", "http://a/2,b", "http://a/1,c", "http://a/1,a", "http://a/3,d"]
      try write("url,out\n" + rows.joined(separator: "\n"), to: "l.csv", fixture)
      try write(
        "{\"files\":4}\n" + line(1, "completed", time: 1) + line(2, "completed", time: 2),
        to: "m.jsonl", fixture)
      let result = try await fixture.haul(
        ["split", "l.csv", "--failed", "m.jsonl", "--shards", "1", "-o", "d"])
      #expect(result.status == 0 && result.errors.contains("1 rows are given twice"))
      #expect(
        try text("d/0.csv", fixture)
          == "url,out\n" + [0, 2, 4].map { rows[$0] + "\n" }.joined())
    }
  }

  @Test func `A row that is given again is split once, and one for another file stays`()
    async throws
  {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let rows = [
        "http://a/1,,,1", "http://a/1,x,,1", "http://a/1,,n,1", "http://b/1,,,1",
        // The same letter, composed and not.
        "http://a/1,\u{E9},,1", "http://a/1,e\u{301},,1",
        // The same file, also of another length.
        "http://a/1,,,2", "http://a/1,x,,1",
      ]
      try write("url,out,note,size\n" + rows.joined(separator: "\n"), to: "l.csv", fixture)
      try write("url,out,note,size\n\(rows[3])\n", to: "more.csv", fixture)
      let split = ["split", "l.csv", "more.csv", "--shards", "1", "-o"]
      let result = try await fixture.haul(split + ["d"])
      #expect(result.status == 0)
      #expect(result.errors.contains("3 rows are given twice and are split once"))
      #expect(
        try text("d/0.csv", fixture)
          == "url,out,note,size\n" + rows[..<6].joined(separator: "\n") + "\n")

      // With a manifest too: nothing of them is complete.
      try write(#"{"files":6}"# + "\n", to: "m.jsonl", fixture)
      let again = try await fixture.haul(split + ["e", "--failed", "m.jsonl"])
      #expect(again.status == 0, "\(again.errors)")
      #expect(try text("e/0.csv", fixture) == text("d/0.csv", fixture))
    }
  }

  @Test func `Shards have no more permissions than every list has`() async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      func mode(_ name: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: fixture.path(name))
        return try #require((attributes[.posixPermissions] as? NSNumber)?.intValue)
      }
      for (name, permissions) in [("open", 0o644), ("secret", 0o600), ("fixed", 0o440)] {
        try write("http://a/\(name)\n", to: name, fixture)
        #expect(chmod(fixture.path(name), mode_t(permissions)) == 0)
      }
      func split(_ lists: String..., to directory: String) async throws {
        let result = try await fixture.haul(["split"] + lists + ["--shards", "1", "-o", directory])
        #expect(result.status == 0, "\(result.errors)")
      }
      try await split("open", "secret", to: "s")
      #expect(try [mode("s"), mode("s/0.txt")] == [0o700, 0o600])
      try await split("open", "fixed", to: "f")
      #expect(try [mode("f") & 0o707, mode("f/0.txt") & 0o227] == [0o700, 0o200])
      try await split("open", to: "o")
      #expect(try mode("o/0.txt") & 0o733 == 0o600)
    }
  }

  @Test func `The limit of a shard is that of its host`() async throws {
    let files = (0..<3).map { CommandFixture.file("/\($0).bin", .always(.stall(after: 1 << 15))) }
    try await CommandFixture.with(files) { fixture in
      let rows = files.map { "\(fixture.server.url($0.path))\n  max-per-host=1\n" }
      try write(rows.joined(), to: "l", fixture)
      let run = try await CommandRun(["get", "-i", "l", "-x", "1"], in: fixture.directory)
      try await fixture.server.waitForHeld("/0.bin")
      for file in files { fixture.server.setFaults(file.path, []) }
      #expect(Set(fixture.server.snapshot.requests.map(\.path)) == ["/0.bin"])
      fixture.server.release()
      #expect(await run.end().status == 0)
      for file in files { try fixture.expectWhole(String(file.path.dropFirst())) }
    }
  }
}
