import Foundation
import HaulCore
import HaulTesting
import Testing

/// Runs the command lines and the files of the task pages, in their order.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct TaskPageRuns {
  /// Runs each line of a page that has no language, with these parts replaced.
  private func run(
    _ page: String, _ count: Int, in fixture: DaemonFixture, replacing parts: [String: String] = [:]
  ) async throws {
    let lines = try DocumentPage("docs/tasks/\(page).md").blocks.filter(\.language.isEmpty)
      .flatMap(\.lines)
    #expect(lines.count == count, "a line has come or gone")
    for line in lines {
      let line = parts.reduce(line) { $0.replacing($1.key, with: $1.value) }
      try await fixture.shell(
        line,
        environment: [
          "AWS_ENDPOINT_URL_S3": fixture.work.server.origin, "AWS_ACCESS_KEY_ID": "id",
          "AWS_SECRET_ACCESS_KEY": "secret",
        ])
    }
  }

  private func addresses(_ paths: [String], _ fixture: DaemonFixture) -> String {
    paths.map { fixture.work.server.url($0) + "\n" }.joined()
  }

  @Test func `a dataset over night`() async throws {
    let paths = ["/a.bin", "/b.bin"]
    try await DaemonFixture.withFiles(paths) { fixture in
      let digest = SeededContent.sha256Hex(seed: CommandFixture.seed, length: DaemonFixture.length)
      try fixture.write(addresses(paths, fixture), to: "urls.txt")
      try fixture.write("token\n", to: "token.txt")
      try fixture.write("\(digest)  a.bin\n\(digest)  b.bin\n", to: "SHA256SUMS")
      try await run("dataset", 20, in: fixture)
      try fixture.expectWhole(["data/a.bin", "data/b.bin"])
      #expect(fixture.sent("Authorization", for: "/a.bin").allSatisfy { $0 == "Bearer token" })
    }
  }

  @Test func `a home server`() async throws {
    try await DaemonFixture.withFiles(["/a.iso", "/feed.xml"]) { fixture in
      let files = try DocumentPage("docs/tasks/home-server.md").blocks.filter {
        $0.language == "ini"
      }
      #expect(files.count == 3)
      let text = files.flatMap(\.lines).joined(separator: "\n")
        .replacing("0.0.0.0:8765", with: "127.0.0.1:0")
        .replacing("/home/me/bin/notify", with: "/bin/true")
        .replacing("webhook = https://chat.example.org/hook", with: "")
      try fixture.write("", to: "Drop/.keep")
      try await fixture.shell("chmod 700 Drop && haul daemon start")
      try fixture.write(text + "\n", to: ".config/haul/haul.conf")
      try await run(
        "home-server", 7, in: fixture,
        replacing: ["haul ui password": "echo 'a password of mine' | haul ui password"])
      let status = try await fixture.haul("daemon", "status").output
      #expect(status.contains("certificate (SHA-256): "), "\(status)")
      #expect(try await fixture.haul("list", "--state", "failed", "--json").output.isEmpty)
    }
  }

  @Test func `cron and mirrors`() async throws {
    try await DaemonFixture.withFiles(["/data.csv"]) { fixture in
      try fixture.write(addresses(["/data.csv"], fixture), to: "mirror.txt")
      try await run(
        "mirrors", 8, in: fixture, replacing: ["/srv/mirror": fixture.work.path("mirror")])
      try fixture.expectWhole(["mirror/data.csv"])
      let log = String(decoding: try fixture.work.contents("mirror.log"), as: UTF8.self)
      #expect(log.hasPrefix("20"), "each line has its time: \(log)")
    }
  }

  @Test func `uploads and backups`() async throws {
    let store = FaultScript.Resource("/bucket/", length: 0).with { $0.service = .s3 }
    let file = CommandFixture.file("/big.iso", length: DaemonFixture.length)
    try await DaemonFixture.with([store, file]) { fixture in
      try fixture.write("report", to: "report.pdf")
      try fixture.write("a picture", to: "photos/a.jpg")
      try await run("uploads", 7, in: fixture)
      let objects = fixture.work.server.files(below: "/bucket/")
      for name in ["report.pdf", "photos/a.jpg", "photos.tar.gz", "big.iso"] {
        #expect(objects["/bucket/backups/\(name)"] != nil, "\(objects.keys)")
      }
    }
  }

  /// The command lines of the right column, of the sections whose programs are commands too.
  private static func newCommands() throws -> [String] {
    let text = try DocumentPage.text("docs/tasks/coming-from.md")
    return text.components(separatedBy: "\n").compactMap { (line) -> String? in
      let columns = line.replacing("\\|", with: "\u{1}").split(separator: "|")
      guard columns.count == 2,
        let now = columns[1].firstMatch(of: /^ `(haul (?:get|put|add|probe) [^`]*)`/)
      else { return nil }
      return String(now.output.1).replacing("\u{1}", with: "|")
    }
  }

  @Test func `coming from other programs`() async throws {
    let lines = try Self.newCommands()
    #expect(lines.count == 31, "a line has come or gone: \(lines)")
    let store = FaultScript.Resource("/bucket/", length: 0).with { $0.service = .s3 }
    let paths = lines.indices.flatMap { ["/\($0)/f", "/\($0)/g"] }
    let files = paths.map { CommandFixture.file($0, length: DaemonFixture.length) }
    try await DaemonFixture.with(files + [store]) { fixture in
      let archive = try await fixture.archive()
      for (name, text) in [
        ("b.bin", "b"), ("report.pdf", "r"), ("photos/a.jpg", "p"), ("c.txt", ""),
        (".netrc", "machine 127.0.0.1 login me password secret\n"),
        ("list.txt", addresses(["/0/f"], fixture)),
      ] { try fixture.write(text, to: name) }
      for (index, line) in lines.enumerated() {
        if line.hasSuffix("tar x") {
          fixture.work.server.setFaults("/\(index)/f", [archive])
        }
        try await fixture.shell(
          line, paths: ["/\(index)/f", "/\(index)/g"],
          environment: [
            "AWS_ENDPOINT_URL_S3": fixture.work.server.origin, "AWS_ACCESS_KEY_ID": "id",
            "AWS_SECRET_ACCESS_KEY": "secret",
          ])
      }
      try fixture.expectUnpacked()
      try await fixture.shell("haul wait --all")
    }
  }
}
