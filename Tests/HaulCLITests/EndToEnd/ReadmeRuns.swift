import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// Runs the command lines and the files of the README, in their order.
@Suite(.timeLimit(.minutes(10)))
struct ReadmeRuns {
  private static let credentials = "Lists, passwords, defaults"

  private func block(_ section: String, _ number: Int, lines count: Int) throws -> [String] {
    let blocks = try DocumentPage("README.md").plain(section)
    try #require(blocks.indices.contains(number))
    #expect(blocks[number].count == count)
    return blocks[number]
  }

  @Test func `Downloads: every line succeeds, and its files are whole`() async throws {
    let lines =
      try block("First download", 0, lines: 1) + block("First download", 1, lines: 11)
    let list = try block(Self.credentials, 0, lines: 7).joined(separator: "\n")
    let paths = [
      "/big.iso", "/1", "/2", "/3", "/4", "/a.iso", "/b.iso", "/files/report.pdf",
      "/bucket/key",
    ]
    try await DaemonFixture.withFiles(paths) { (fixture) async throws in
      fixture.work.server.setFaults(
        "/4", [Fault(.addHeaders(fields: ["Content-Disposition: attachment; filename=given"]))])
      let text = fixture.real(list).replacing("dir=/data", with: "dir=\(fixture.work.path("data"))")
      try fixture.write(text + "\n", to: "list.txt")
      try fixture.write("report", to: "report.pdf")
      for line in lines {
        let line = line.replacing("https://h/", with: fixture.work.server.url("/"))
        let paths = line.contains("--remote-name") ? ["/4"] : ["/1", "/2", "/3"]
        let result = try await fixture.shell(
          line, paths: paths,
          environment: [
            "AWS_ENDPOINT_URL_S3": fixture.work.server.origin, "AWS_ACCESS_KEY_ID": "id",
            "AWS_SECRET_ACCESS_KEY": "secret",
          ])
        if line.contains("--json") { #expect(try result.events().finished.count == 1) }
        if line.contains("probe") { #expect(result.output.contains("Plan  "), "\(result.output)") }
      }
      try fixture.expectWhole([
        "big.iso", "downloads/1", "downloads/2", "downloads/3", "disk.img", "1",
        "downloads/first.iso", "data/b.iso", "given",
      ])
      let report = fixture.work.server.snapshot.requests.first { $0.method == "PUT" }
      #expect(report?.body == Array("report".utf8))
      let object = fixture.work.server.snapshot.requests.last { $0.method == "PUT" }
      #expect(object?.path == "/bucket/key" && object?.body.count == Int(DaemonFixture.length))
      #expect(fixture.sent("Accept-Language", for: "/b.iso").first == "de")
    }
  }

  @Test func `The background: every line succeeds`() async throws {
    let lines = try block("In the background", 0, lines: 12)
    try await DaemonFixture.withFiles(["/big.tar", "/episode", "/files/report.pdf"]) {
      (fixture) async throws in
      fixture.work.server.setFaults("/big.tar", [Fault(.stallBeforeHead)])
      let archive = try await fixture.archive()
      try fixture.write("report", to: "report.pdf")
      var ids: [String] = []
      for line in lines {
        let line = line.replacing("https://h/", with: fixture.work.server.url("/"))
        let path = ids.isEmpty ? "/big.tar" : "/episode"
        let result = try await fixture.shell(line, paths: [path], id: ids.first ?? "")
        let output = result.output
        switch line.split(separator: " ")[1] {
        case "add": ids.append(output.trimmingCharacters(in: .newlines))
        case "list" where line.contains("--groups"):
          #expect(output.hasPrefix("GROUP") || output.contains("no transfer has a group"))
        case "list": #expect(output.contains("\(ids[0])  big.tar"), "\(output)")
        case "explain": #expect(output.hasPrefix("big.tar "), "\(output)")
        case "pause":
          #expect(try await fixture.state(of: ids[0]).state == .paused)
          // The next line waits until everything has ended.
          fixture.work.server.setFaults("/big.tar", [archive])
          try await fixture.shell("haul resume 4FZ0", id: ids[0])
        default: break
        }
      }
      let report = fixture.work.server.snapshot.requests.first { $0.method == "PUT" }
      #expect(report?.body == Array("report".utf8))
      #expect(ids.count == 5 && ids.allSatisfy { TransferID($0) != nil }, "\(ids)")
      #expect(try fixture.work.names("downloads") == ["big.tar"])
      try fixture.expectUnpacked()
      try fixture.expectWhole(["episode"])
    }
  }

  @Test func `Passwords: every line sends its secret`() async throws {
    let lines = try block(Self.credentials, 1, lines: 4)
    let basic = "Basic \(SecretFixture.base64("me:secret"))"
    let expected = [
      ("Authorization", basic), ("Authorization", basic), ("Authorization", "Bearer token"),
      ("Cookie", "id=cookie"),
    ]
    let paths = expected.indices.map { "/\($0)" }
    try await DaemonFixture.withFiles(paths) { (fixture) async throws in
      try fixture.write("machine 127.0.0.1 login me password secret\n", to: ".netrc")
      try fixture.write("token\n", to: "token.txt")
      try fixture.write("127.0.0.1\tFALSE\t/\tFALSE\t0\tid\tcookie\n", to: "cookies.txt")
      for (index, (field, value)) in expected.enumerated() {
        let path = paths[index]
        try await fixture.shell(
          lines[index], paths: [path], environment: ["HAUL_PASSWORD": "secret"])
        #expect(fixture.sent(field, for: path).first == value, "\(lines[index])")
      }
    }
  }
}
