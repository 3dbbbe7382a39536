import Foundation
import HaulTesting
import Testing

/// Manifests in a store, and files that are sent to one.
extension ManifestRuns {
  @Test func `A manifest in a store is that of all machines, and no line is lost`() async throws {
    try await with { (fixture) async throws in
      func get(on machine: String, _ more: String...) async throws -> CommandResult {
        try await fixture.haul(
          ["get", "-i", "list.txt", "-d", "out", "--manifest", "s3://bucket/m/run.jsonl"] + more,
          environment: [
            "AWS_ENDPOINT_URL_S3": fixture.server.origin, "AWS_ACCESS_KEY_ID": "id",
            "AWS_SECRET_ACCESS_KEY": "secret/+", "XDG_STATE_HOME": fixture.path(machine),
          ])
      }
      func stored() -> [Substring] {
        let bytes = fixture.server.files(below: "/bucket/")["/bucket/m/run.jsonl"] ?? []
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
      }
      func copies(on machine: String) -> [String] {
        let directory = fixture.path("\(machine)/haul/manifests")
        return (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
      }
      fixture.server.setFaults("/b.bin", [.always(.status(404))])
      #expect(try await get(on: "one").status == 1)
      #expect(stored().count == 4 && copies(on: "one").isEmpty)

      fixture.server.setFaults("/b.bin", [])
      let before = fixture.server.snapshot.requests.count
      // Another run is faster, once.
      fixture.server.setFaults("/bucket/", [Fault(.respond(status: 412), when: Self.put(times: 1))])
      let second = try await get(on: "two")
      #expect(second.status == 0, "\(second.errors)")
      #expect(second.errors.contains("2 of 3 files are complete, by s3://bucket/m/run.jsonl"))
      let paths = Set(fixture.server.snapshot.requests.dropFirst(before).map(\.path))
      #expect(paths == ["/b.bin", "/bucket/m/run.jsonl"])
      #expect(stored().count == 6 && copies(on: "two").isEmpty)

      // It cannot be stored: the lines stay, and the next run here has them.
      try FileManager.default.removeItem(atPath: fixture.path("out/a.bin"))
      fixture.server.setFaults("/bucket/", [Fault(.respond(status: 403), when: Self.put())])
      let third = try await get(on: "two")
      #expect(third.status == 1 && third.errors.contains("its lines stay"), "\(third.errors)")
      #expect(stored().count == 6 && copies(on: "two").count == 1)
      fixture.server.setFaults("/bucket/", [])
      let last = try await get(on: "two")
      #expect(last.status == 0 && last.errors.contains("all files are complete, by s3://"))
      #expect(stored().count == 8 && copies(on: "two").isEmpty)
      #expect(
        try fixture.names("out").sorted() == ["a.bin", "b.bin", "c.bin"], "and nothing beside them")
    }
  }

  @Test func `What a run left that was killed while it fetched the manifest is deleted`()
    async throws
  {
    try await with { (fixture) async throws in
      let environment = [
        "AWS_ENDPOINT_URL_S3": fixture.server.origin, "AWS_ACCESS_KEY_ID": "id",
        "AWS_SECRET_ACCESS_KEY": "secret/+", "XDG_STATE_HOME": fixture.path("state"),
      ]
      let get = ["get", "-i", "list.txt", "-d", "out", "--manifest", "s3://bucket/m.jsonl"]
      #expect(try await fixture.haul(get, environment: environment).status == 0)
      let left = ["a-1.haul.part", "a-1.haul.journal", "a-1.lock", "a-2", "b-3.haul.part"]
      // The lines of another manifest, and a run that is at work.
      let kept = ["b-4-10", "b-5.haul.part", "b-5.lock"]
      for name in left + kept {
        try Data().write(to: URL(filePath: fixture.path("state/haul/manifests/\(name)")))
      }
      let lock = open(fixture.path("state/haul/manifests/b-5.lock"), O_RDWR)
      defer { close(lock) }
      #expect(lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
      let again = try await fixture.haul(get, environment: environment)
      #expect(again.status == 0, "\(again.errors)")
      #expect(try fixture.names("state/haul/manifests").sorted() == kept.sorted())
    }
  }

  @Test func `An object that is no manifest stays as it is`() async throws {
    try await with { (fixture) async throws in
      let environment = [
        "AWS_ENDPOINT_URL_S3": fixture.server.origin, "AWS_ACCESS_KEY_ID": "id",
        "AWS_SECRET_ACCESS_KEY": "secret/+", "XDG_STATE_HOME": fixture.path("state"),
      ]
      try Data("precious\n".utf8).write(to: URL(filePath: fixture.path("m.jsonl")))
      let put = ["put", "m.jsonl", "s3://bucket/m.jsonl"]
      #expect(try await fixture.haul(put, environment: environment).status == 0)
      let get = ["get", "-i", "list.txt", "--manifest", "s3://bucket/m.jsonl"]
      let refused = try await fixture.haul(get + ["-d", "out"], environment: environment)
      #expect(refused.status == 1, "\(refused.errors)")
      #expect(
        refused.errors.contains("the manifest s3://bucket/m.jsonl: the object is no manifest"))
      #expect(
        fixture.server.files(below: "/bucket/")["/bucket/m.jsonl"].map { Data($0) }
          == Data("precious\n".utf8))
      try Data("\(fixture.server.url("/a.bin"))\n  out=own.jsonl".utf8).write(
        to: URL(filePath: fixture.path("list.txt")))
      let own = try await fixture.haul(
        ["get", "-i", "list.txt", "--manifest", "s3://bucket/own.jsonl", "-o", "s3://bucket/"],
        environment: environment)
      #expect(own.status == 2 && own.errors.contains("would be the manifest too"), "\(own.errors)")
    }
  }

  @Test func `Two runs at once leave the lines of both in a store`() async throws {
    try await with { (fixture) async throws in
      for name in ["a.bin", "b.bin"] {
        try Data(fixture.server.url("/\(name)").utf8).write(
          to: URL(filePath: fixture.path("\(name).txt")))
      }
      func run(_ name: String) async throws -> CommandRun {
        try await CommandRun(
          ["get", "-i", "\(name).txt", "--manifest", "s3://bucket/m/run.jsonl", "-d", "out"],
          in: fixture.directory,
          environment: [
            "AWS_ENDPOINT_URL_S3": fixture.server.origin, "AWS_ACCESS_KEY_ID": "id",
            "AWS_SECRET_ACCESS_KEY": "secret/+", "XDG_STATE_HOME": fixture.path(name),
          ])
      }
      fixture.server.setFaults("/a.bin", [.retryLater(seconds: 1)])
      let slow = try await run("a.bin")
      try await until { fixture.server.snapshot.requestCount("/a.bin") > 0 }
      // It has taken what the store had.
      #expect(try await run("b.bin").end().status == 0)
      fixture.server.setFaults("/a.bin", [])
      #expect(await slow.end().status == 0)
      let bytes = fixture.server.files(below: "/bucket/")["/bucket/m/run.jsonl"] ?? []
      try Data(bytes).write(to: URL(filePath: fixture.path("m.jsonl")))
      let both = try await fixture.haul(["manifest", "m.jsonl"])
      #expect(both.output.contains(" 2 complete"), "\(both.output)")
    }
  }

  @Test func `A target of two addresses in a store is a conflict, as a path is`() async throws {
    try await with { (fixture) async throws in
      let environment = [
        "AWS_ENDPOINT_URL_S3": fixture.server.origin, "AWS_ACCESS_KEY_ID": "id",
        "AWS_SECRET_ACCESS_KEY": "secret/+", "XDG_STATE_HOME": fixture.path("state"),
      ]
      // As two tasks of a job with one key.
      for name in ["a.bin", "b.bin"] {
        let get = ["get", fixture.server.url("/\(name)"), "-o", "s3://bucket/x"]
        let result = try await fixture.haul(
          get + ["--manifest", "m/\(name).jsonl"], environment: environment)
        #expect(result.status == 0, "\(result.errors)")
      }
      let sum = try await fixture.haul(["manifest", "m"])
      #expect(sum.status == 1)
      #expect(
        sum.output.hasPrefix("2 files: 1 complete (39.1 KiB), 1 failed\n1  name-conflict\n"))
      #expect(sum.output.contains("has the same target, "), "\(sum.output)")
      // Where the server names what it gets, files share an address.
      let lines = try ["a", "b"].map { name in
        let line = try fixture.contents("m/\(name).bin.jsonl")
        return String(decoding: line, as: UTF8.self)
          .replacing(#""exclusive":true"#, with: #""exclusive":false"#)
      }
      try Data(lines.joined().utf8).write(to: URL(filePath: fixture.path("shared.jsonl")))
      #expect(try await fixture.haul(["manifest", "shared.jsonl"]).status == 0)
    }
  }

  private static func put(times: Int? = nil) -> Fault.Match {
    Fault.Match(method: "PUT", times: times)
  }

  @Test func `A file that may have become older, or is another one's by now, is asked for`()
    async throws
  {
    try await with { (fixture) async throws in
      let target = ["-o", "s3://bucket/{index}"]
      func asks(_ more: [String] = target) async throws -> Bool {
        let count = fixture.server.snapshot.requests.count
        let result = try await fixture.haul(
          ["get", "-i", "list.txt", "--manifest", "done.jsonl"] + more,
          environment: [
            "AWS_ENDPOINT_URL_S3": fixture.server.origin, "AWS_ACCESS_KEY_ID": "id",
            "AWS_SECRET_ACCESS_KEY": "secret/+", "XDG_STATE_HOME": fixture.path("state"),
          ])
        #expect(result.status == 0, "\(result.errors)")
        return fixture.server.snapshot.requests.count > count
      }
      #expect(try await asks())
      #expect(try await !asks())
      // A run that began before may have replaced it since.
      let text = String(decoding: try fixture.contents("done.jsonl"), as: UTF8.self)
      let line = try #require(text.split(separator: "\n").last)
      let doubt = line.replacing(#""state":"completed""#, with: #""state":"failed""#)
        .replacing(#""code":null"#, with: #""code":"source-changed""#)
      try Data("\(text)\(doubt)\n\(line)\n".utf8).write(
        to: URL(filePath: fixture.path("done.jsonl")))
      let sum = try await fixture.haul(["manifest", "done.jsonl"])
      #expect(sum.status == 1 && sum.output.contains("source-changed"), "\(sum.output)")
      #expect(try await asks())
      #expect(try await !asks())
      // The targets change their sources, and change them back.
      let list = try fixture.contents("list.txt")
      let turned = String(decoding: list, as: UTF8.self).split(separator: "\n").reversed()
        .joined(separator: "\n")
      try Data(turned.utf8).write(to: URL(filePath: fixture.path("list.txt")))
      #expect(try await asks())
      #expect(try await !asks())
      try Data(list).write(to: URL(filePath: fixture.path("list.txt")))
      #expect(try await asks())
    }
  }
}
