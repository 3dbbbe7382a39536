import HaulTesting
import Testing

/// Runs haul with the configuration files that the documentation shows.
@Suite(.timeLimit(.minutes(10)))
struct ConfigurationExampleRuns {
  private static let file = ".config/haul/haul.conf"

  private func example(_ page: String, _ section: String) throws -> String {
    let blocks = try DocumentPage(page).plain(section).filter { $0.contains { $0.contains(" = ") } }
    try #require(blocks.count == 1)
    return blocks[0].joined(separator: "\n") + "\n"
  }

  @Test(arguments: [
    ("README.md", "Lists, passwords, defaults", ["Accept-Language: de"]),
    (
      "docs/command-line.md", "The configuration file", ["Accept-Language: de", "X-Team: build"]
    ),
  ])
  func `Set defaults of get`(page: String, section: String, fields: [String]) async throws {
    try await DaemonFixture.withFiles(["/a"]) { (fixture) async throws in
      try fixture.write(try example(page, section), to: Self.file)
      try fixture.write("machine 127.0.0.1 login me password secret\n", to: ".netrc")
      #expect(try await fixture.shell("haul get URL", paths: ["/a"]).output.isEmpty, "json = false")
      try fixture.expectWhole(["Downloads/a"])
      let sent = try #require(fixture.work.server.requests.first).headerLines
      for field in fields { #expect(sent.contains(field), "\(sent)") }
      #expect(sent.contains { $0.hasPrefix("Authorization: Basic ") }, "netrc")
    }
  }

  @Test func `Send notices to a webhook and to a command`() async throws {
    let receiver = try WebhookReceiver()
    defer { receiver.close() }
    let hook = "http://127.0.0.1:\(receiver.port)/hook"
    let text = try example("docs/daemon.md", "Notices")
      .replacing("https://example.org/hook", with: hook)
    #expect(text.contains(hook))
    try await DaemonFixture.withFiles(["/a"]) { (fixture) async throws in
      try fixture.write(text + "webhook-private\n", to: Self.file)
      try fixture.write("secret\n", to: ".config/haul/webhook.secret")
      // Reading from a pipe waits until a program writes to it.
      try await fixture.shell("mkfifo told")
      let words = #"printf '%s|' "$@" "$HAUL_STATE" "$HAUL_TITLE" >"$HOME/told""#
      try fixture.write("#!/bin/sh\n\(words)\n", to: "bin/on-end", permissions: 0o700)
      try await fixture.shell("haul add -d files URL", paths: ["/a"])
      let reported = try await fixture.shell("cat told").output
      #expect(reported == "--label|from haul|completed|a: completed|")
      let message = try #require(await receiver.messages(until: "a: completed").last)
      #expect(message.line.hasPrefix("POST /hook "))
      #expect(message.fields["x-haul-signature"]?.hasPrefix("sha256=") == true)
    }
  }
}
