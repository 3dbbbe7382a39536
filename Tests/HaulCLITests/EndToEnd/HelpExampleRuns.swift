import Foundation
import HaulTesting
import Testing

/// Runs the examples of the help texts, which are also those of the manual pages: both come from
/// the output of `--experimental-dump-help`.
@Suite(.timeLimit(.minutes(10)))
struct HelpExampleRuns {
  private static let paths = [
    "/big.iso", "/a", "/b", "/a.zip", "/b.zip", "/x.bin", "/x.tar.gz", "/y.iso",
    "/files/report.pdf", "/photos/a.jpg", "/photos/b.jpg", "/backup/photos/c.jpg", "/import",
    "/uploads/", "/bucket/movies/movie.mkv", "/bucket/photos.tar", "/photo-form",
    "/bucket/big.iso", "/bucket/1-y.iso", "/bucket/site/index.html",
  ]

  /// The lines below "Examples:" of each command.
  private func examples(_ fixture: DaemonFixture) async throws -> [String: [String]] {
    let text = try await fixture.shell("haul --experimental-dump-help").output
    let root = try #require(try JSONValue(parsing: text)["command"])
    var examples: [String: [String]] = [:]
    for command in [root] + (root["subcommands"]?.array ?? []) {
      let lines = (command["discussion"]?.string ?? "").components(separatedBy: "\n")
      guard let name = command["commandName"]?.string,
        let start = lines.firstIndex(of: "Examples:")
      else { continue }
      examples[name] = lines[(start + 1)...].prefix { $0.hasPrefix("  ") }
        .map { String($0.dropFirst(2)) }
    }
    return examples
  }

  @Test func `All succeed, and do what they say`() async throws {
    try await DaemonFixture.withFiles(Self.paths) { (fixture) async throws in
      fixture.work.server.setFaults("/x.tar.gz", [try await fixture.archive("z")])
      try fixture.write("token\n", to: "token.txt")
      try fixture.write(fixture.work.server.url("/y.iso") + "\n", to: "list.txt")
      try prepareUploads(fixture)
      // For machines without the real one.
      let jq = #"exec sed 's/.*"length":\([0-9]*\).*/\1/'"#
      try fixture.write("#!/bin/sh\n\(jq)\n", to: "bin/jq", permissions: 0o700)
      let examples = try await examples(fixture)
      let commands = [
        "haul", "get", "manifest", "split", "put", "probe", "verify", "cache", "add", "limits",
      ]
      #expect(Set(examples.keys) == Set(commands), "this test runs those of no other command")
      var id = ""
      for line in commands.flatMap({ examples[$0] ?? [] }) {
        let line = line.replacing("md5=HEX", with: "md5=$(md5sum <big.iso | cut -c -32)")
        if line.contains("tar xf big.tar") {
          try await fixture.shell("tar -cf big.tar inside && rm inside")
        }
        if line.hasPrefix("haul verify -c") {
          try await fixture.shell("sha256sum big.iso >SHA256SUMS")
        }
        let output = try await fixture.shell(line, id: id, environment: store(fixture)).output
        if line.hasPrefix("haul add "), id.isEmpty { id = output.trimmingCharacters(in: .newlines) }
        if line.contains("| jq .length") { #expect(output == "\(DaemonFixture.length)\n") }
        if line.contains("&& echo good") { #expect(output == "good\n") }
        if line.contains("| tar xz") { try fixture.expectUnpacked() }
      }
      try await fixture.shell("haul wait --all")
      try fixture.expectUnpacked()
      try fixture.expectWhole([
        "big.iso", "Downloads/a.zip", "Downloads/b.zip", "disk.iso", "Music/a", "Music/b", "x.bin",
        "Downloads/y.iso",
      ])
      let sent = fixture.sent("Authorization", for: "/x.bin")
      #expect(sent.first == "Bearer token" && sent.last == "Bearer TOKEN", "\(sent)")
      let events = String(decoding: try fixture.work.contents("events.ndjson"), as: UTF8.self)
      #expect(try EventSchema().violations(output: events) == [])
      let requests = fixture.work.server.snapshot.requests
      for (path, name) in Self.uploads {
        let sent = requests.last { $0.path == path && $0.bodyReceived > 0 }
        #expect(sent?.body == Array(name.utf8), "\(path)")
      }
      let form = requests.last { $0.path == "/photo-form" }
      #expect(form?.header("Content-Type")?.hasPrefix("multipart/form-data") == true)
      let moved = fixture.work.server.files(below: "/dav/")
      #expect(moved == ["/dav/films/movie.mkv": Array("movie.mkv".utf8)])
    }
  }

  /// The addresses of uploads, and the files that they get; the content of each is its name.
  private static let uploads = [
    "/files/report.pdf": "report.pdf", "/photos/a.jpg": "a.jpg", "/photos/b.jpg": "b.jpg",
    "/backup/photos/c.jpg": "photos/c.jpg", "/import": "data.csv", "/uploads/": "movie.mkv",
    "/bucket/movies/movie.mkv": "movie.mkv", "/bucket/site/index.html": "site/index.html",
  ]

  /// The S3 store, which takes any access key.
  private func store(_ fixture: DaemonFixture) -> [String: String] {
    [
      "AWS_ENDPOINT_URL_S3": String(fixture.work.server.url("/").dropLast()),
      "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret",
    ]
  }

  /// The files to upload, and a server that takes them: one address speaks just enough of tus.
  private func prepareUploads(_ fixture: DaemonFixture) throws {
    for name in ["photos", "site"] {
      try FileManager.default.createDirectory(
        atPath: fixture.work.path(name), withIntermediateDirectories: false)
    }
    for name in Set(Self.uploads.values) { try fixture.write(name, to: name) }
    let server = fixture.work.server
    server.add(FaultScript.Resource("/dav/", length: 0).with { $0.service = .webDAV })
    server.setFaults("/files/report.pdf", [Fault(.status(404), when: .init(method: "HEAD"))])
    let offered = ["Tus-Version: 1.0.0", "Tus-Extension: creation"]
    server.setFaults(
      "/uploads/",
      [
        Fault(.status(204, headers: offered), when: .init(method: "OPTIONS")),
        Fault(.status(201, headers: ["Location: /uploads/"]), when: .init(method: "POST")),
        Fault(.status(204, headers: ["Upload-Offset: 9"]), when: .init(method: "PATCH")),
      ])
  }
}
