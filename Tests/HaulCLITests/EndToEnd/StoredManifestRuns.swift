import Foundation
import HaulTesting
import Testing

/// `haul manifest` and `haul split` of what is on servers.
@Suite(.serialized, .timeLimit(.minutes(10))) struct StoredManifestRuns {
  private struct Place {
    let fixture: CommandFixture
    let environment: [String: String]

    func haul(_ arguments: String...) async throws -> CommandResult {
      try await fixture.haul(arguments, environment: environment)
    }

    /// Puts a text to an address.
    func put(_ text: String, to address: String) async throws {
      try Data(text.utf8).write(to: URL(filePath: fixture.path("sent")))
      let put = try await haul("put", "sent", address, "--if-exists", "overwrite")
      #expect(put.status == 0, "\(put.errors)")
      try FileManager.default.removeItem(atPath: fixture.path("sent"))
    }

    func text(_ name: String) throws -> String {
      String(decoding: try fixture.contents(name), as: UTF8.self)
    }

    func file(_ name: String) -> String { fixture.server.url("/\(name)") }
  }

  private func with(_ body: (Place) async throws -> Void) async throws {
    let store = FaultScript.Resource("/bucket/", length: 0).with { $0.service = .s3 }
    let plain = FaultScript.Resource("/dav/", length: 0).with { $0.service = .webDAV }
    let files = ["/a", "/b", "/c", "/d"].map { CommandFixture.file($0, length: 1000) }
    try await CommandFixture.with(files + [store, plain]) { (fixture) async throws in
      try await body(
        Place(
          fixture: fixture,
          environment: [
            "AWS_ENDPOINT_URL_S3": fixture.server.origin, "AWS_ACCESS_KEY_ID": "id",
            "AWS_SECRET_ACCESS_KEY": "canary", "XDG_STATE_HOME": fixture.path("state"),
          ]))
    }
  }

  @Test func `A job whose lists, shards and manifests are all in a store`() async throws {
    try await with { place in
      let server = place.fixture.server
      let rows = ["a", "b", "c", "d"].map { "\(place.file($0))\n" }
      try await place.put(rows.joined(), to: "s3://bucket/list.txt")
      let split = try await place.haul(
        "split", "s3://bucket/list.txt", "--shards", "2", "--by", "lines", "-o", "shards")
      #expect(split.status == 0, "\(split.errors)")
      let origin = server.origin
      let first = try place.text("shards/0.txt")
      #expect(
        first
          == "\(rows[0])  list-server=store \(origin)\n\(rows[2])  list-server=store \(origin)\n")
      for name in ["0.txt", "1.txt"] {
        try await place.put(place.text("shards/\(name)"), to: "s3://bucket/shards/\(name)")
      }
      try await place.put("no list", to: "s3://bucket/shards/note")
      server.setFaults("/c", [.always(.status(404))])
      let task = try await place.haul(
        "get", "-i", "s3://bucket/shards/0.txt", "-d", "out", "--manifest", "s3://bucket/done/")
      #expect(task.status == 1, "\(task.errors)")

      let sum = try await place.haul(
        "manifest", "s3://bucket/done/", "-i", "s3://bucket/shards/")
      #expect(sum.status == 1)
      #expect(
        sum.output == "4 files: 1 complete (1000 B), 1 failed, 2 missing\n1  not-found\n",
        "\(sum.output)\(sum.errors)")
      let one = try await place.haul("manifest", "s3://bucket/done/0.jsonl")
      #expect(one.output.hasPrefix("2 files: 1 complete (1000 B), 1 failed\n"), "\(one.errors)")

      let again = try await place.haul(
        "split", "s3://bucket/list.txt", "--failed", "s3://bucket/done/", "--shards", "1", "-o",
        "again")
      #expect(again.status == 0, "\(again.errors)")
      let left = try place.text("again/0.txt").split(separator: "\n").filter { $0.first != " " }
      #expect(left.map { "\($0)\n" } == [rows[1], rows[2], rows[3]])
      let alone = try await place.haul(
        "split", "--failed", "s3://bucket/done/", "--shards", "1", "-o", "alone")
      #expect(alone.status == 0, "\(alone.errors)")
      #expect(
        try JSONValue(parsing: place.text("alone/0.jsonl"))["url"]?.string == place.file("c"))
      for result in [split, sum, one, again, alone] {
        #expect(!(result.output + result.errors).contains("canary"))
      }
      #expect(
        try place.fixture.names().sorted() == ["again", "alone", "out", "shards", "state"],
        "nothing is left of what was fetched")
    }
  }

  @Test func `More shards than are fetched at once, of which one is longer than the memory`()
    async throws
  {
    try await with { place in
      for shard in 0..<10 {
        var text = "{\"files\":1}\n"
        // Lines of one file: the last one counts.
        for time in 0..<(shard == 3 ? 6000 : 2) {
          let id = String(repeating: "\(shard)", count: 32)
          text += #"{"id":"\#(id)","state":"completed","url":"http://a/\#(shard)","#
          text += #""target":"/t/\#(shard)","path":null,"code":null,"message":null,"#
          text += #""retryable":null,"bytes":1\#(shard),"checksum":null,"verified":"length","#
          text += #""modified":null,"attempts":1,"seconds":0.5,"time":\#(time)}"# + "\n"
        }
        try await place.put(text, to: "s3://bucket/m/\(shard).jsonl")
      }
      let sum = try await place.haul("manifest", "s3://bucket/m/")
      #expect(sum.status == 0, "\(sum.errors)")
      #expect(sum.output == "10 files: 10 complete (145 B)\n", "\(sum.output)")
    }
  }

  @Test func `Shards of a list of a server have its rights`() async throws {
    try await with { place in
      let server = place.fixture.server
      let other = server.url("/b").replacing("127.0.0.1", with: "localhost")
      let rows = "url,out\n\(place.file("a")),.bashrc\n\(other),x\n"
      try await place.put(rows, to: server.url("/dav/l.csv"))
      try Data("url,out\n\(place.file("c")),.own\n".utf8).write(
        to: URL(filePath: place.fixture.path("own.csv")))
      let split = try await place.haul(
        "split", server.url("/dav/l.csv") + "?token=canary", "own.csv", "--shards", "1",
        "--max-per-host", "2", "-o", "s")
      #expect(split.status == 0 && !split.errors.contains("canary"), "\(split.errors)")
      #expect(
        try place.text("s/0.csv").split(separator: "\n") == [
          "url,out,max-per-host,list-server", "\(place.file("a")),.bashrc,2,\(server.origin)",
          "\(other),x,2,\(server.origin)", "\(place.file("c")),.own,2,",
        ])
      let get = try await place.haul("get", "-i", "s/0.csv", "-d", "out", "-H", "X-Mine: 1")
      #expect(get.status == 0, "\(get.errors)")
      // Its names are made safe, and the fields go to its own server alone; the other list is ours.
      for name in ["_.bashrc", "x", ".own"] {
        #expect(try place.fixture.contents("out/\(name)").count == 1000)
      }
      #expect(!FileManager.default.fileExists(atPath: place.fixture.path("out/.bashrc")))
      let requests = server.snapshot.requests
      for (path, isSent) in [("/a", true), ("/b", false), ("/c", true)] {
        let request = try #require(requests.last { $0.target == path })
        #expect((request.header("X-Mine") != nil) == isSent, "\(path)")
      }
      let twice = try await place.haul("split", "s/0.csv", "--shards", "1", "-o", "t")
      #expect(twice.status == 2)

      // What it must not choose is refused as it is split, and in a shard.
      for row in ["s3://bucket/secret", "\(place.file("a"))\n  out=s3://bucket/x"] {
        try await place.put(row + "\n", to: server.url("/dav/l.txt"))
        let refused = try await place.haul(
          "split", server.url("/dav/l.txt"), "--shards", "1", "-o", "u")
        #expect(refused.status == 2 && refused.errors.contains("l.txt: line"), "\(refused.errors)")
        try Data("\(row)\n  list-server=https://example.org\n".utf8).write(
          to: URL(filePath: place.fixture.path("shard")))
        let shard = try await place.haul("get", "-i", "shard")
        #expect(shard.status == 2 && shard.errors.contains("must not choose"), "\(shard.errors)")
      }
      try Data("\(place.file("a"))\n  list-server=https://example.org\n".utf8).write(
        to: URL(filePath: place.fixture.path("shard")))
      let inside = try await place.haul("get", "-i", "shard")
      #expect(inside.status == 2 && inside.errors.contains("the private address"))
      // A list of a server says nothing for another one.
      try await place.put(
        "s3://bucket/secret\n  list-server=store http://127.0.0.1\n", to: server.url("/dav/l.txt"))
      let claimed = try await place.haul("get", "-i", server.url("/dav/l.txt"))
      #expect(claimed.status == 2 && claimed.errors.contains("must not choose"))
    }
  }

  @Test func `What does not come, or is no manifest, ends the command`() async throws {
    try await with { place in
      let server = place.fixture.server
      for (arguments, status, message) in [
        (["manifest", "s3://bucket/none.jsonl"], 1, "the manifest s3://bucket/none.jsonl: "),
        (["manifest", "s3://bucket/none/"], 1, "s3://bucket/none/: there is no manifest below it"),
        (
          ["manifest", server.url("/a")], 2, "name a file of this machine, or an object of a store"
        ),
        (["manifest", "s3://bucket"], 2, "that is no object"),
        (["split", server.url("/none.txt"), "--shards", "1", "-o", "d"], 1, "the list http"),
        (
          ["split", "s3://bucket/x", "--failed", "s3://bucket/none/", "--shards", "1", "-o", "d"],
          1, "s3://bucket/x"
        ),
      ] as [([String], Int32, String)] {
        let result = try await place.fixture.haul(arguments, environment: place.environment)
        #expect(result.status == status && result.errors.contains(message), "\(result.errors)")
      }
      try await place.put("precious\n", to: "s3://bucket/x.jsonl")
      let other = try await place.haul("manifest", "s3://bucket/")
      #expect(
        other.status == 1 && other.errors.contains("s3://bucket/x.jsonl is no manifest"),
        "\(other.errors)")
      #expect(try place.fixture.names().allSatisfy { $0 == "state" })
    }
  }
}
