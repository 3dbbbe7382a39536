import Foundation
import HaulTesting
import Testing

/// Untrusted text on a terminal.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct HostileTextRuns {
  /// How the run shows its progress.
  enum View: CaseIterable {
    case bars, verbose, plain, json

    var options: [String] {
      switch self {
      case .bars: ["--progress", "bar"]
      case .verbose: ["-v"]
      case .plain: ["--progress", "plain"]
      case .json: ["--json", "--progress", "plain"]
      }
    }
  }

  /// ESC, a whole title sequence, U+009B, U+202E, U+2028 and line breaks, percent-encoded.
  private static let encoded =
    "%1B%5B2J%1B%5D0;owned%07%C2%9B31m%E2%80%AEgpj%E2%80%A8%0A%0Dx%7F.bin"

  /// The same bytes raw, where a field may have them: a scalar up to U+00FF is one byte.
  private static let raw = "\u{9B}31m\u{C2}\u{9B}31m\u{E2}\u{80}\u{AE}gpj\u{7F}"

  private static func answer(_ status: String, _ fields: [String], _ body: String = "") -> Fault {
    let lines =
      ["HTTP/1.1 \(status)"] + fields + ["Content-Length: \(body.unicodeScalars.count)", "", body]
    return Fault(.raw(text: lines.joined(separator: "\r\n")))
  }

  /// Where the text is, and what the server answers then.
  private static let positions: [(what: String, faults: [Fault])] = [
    ("in the address only", []),
    ("ESC in the reason", [answer("404 \u{1B}[2J", [])]),
    ("0x9B in the reason", [answer("404 \(raw)", [])]),
    ("ESC in a tag", [answer("200 OK", ["ETag: \"\u{1B}[2J\""], "body")]),
    ("0x9B in a tag", [answer("200 OK", ["ETag: \"\(raw)\""], "body")]),
    ("Location", [answer("302 Found", ["Location: http://127.0.0.1:1/\(raw)"])]),
    ("Location, encoded", [answer("302 Found", ["Location: http://127.0.0.1:1/\(encoded)"])]),
    ("a scheme in Location", [answer("302 Found", ["Location: x\(raw):y"])]),
    ("a path in Location", [answer("302 Found", ["Location: /other\(encoded)?\(raw)"])]),
    ("the body of an error", [answer("500 Oh", ["Retry-After: \(raw)"], "\u{1B}[2J\n\(raw)")]),
    (
      "Content-Disposition",
      [answer("200 OK", ["Content-Disposition: attachment; filename=\"\(raw).exe\""], "body")]
    ),
    (
      "extended Content-Disposition",
      [
        answer(
          "200 OK", ["Content-Disposition: attachment; filename*=UTF-8''\(encoded)"], "body")
      ]
    ),
    ("a field", [answer("200 OK", ["Content-Type: \(raw)", "Server: \(raw)"], "body")]),
    ("a folded field", [answer("200 OK", ["X: a\r\n \u{1B}[2J"], "body")]),
    ("Content-Range", [answer("206 Partial", ["Content-Range: bytes \(raw)"], "body")]),
    ("a digest", [answer("200 OK", ["Repr-Digest: \(raw)=:YQ==:"], "body")]),
    ("a version", [Fault(.raw(text: "HTTP/\u{1B}[2J 200 OK\r\n\r\n"))]),
  ]

  @Test(arguments: View.allCases)
  func `no raw control character reaches it, in any place and view`(view: View) async throws {
    let path = "/\(Self.encoded)"
    try await CommandFixture.with(CommandFixture.file(path, length: 5000)) { fixture in
      for (what, faults) in Self.positions {
        fixture.server.setFaults(path, faults)
        let run = try await TerminalRun(
          ["get", fixture.server.url(path), "--retries", "1"] + view.options, in: fixture.directory)
        let status = await run.end()
        #expect([0, 1].contains(status), "\(what)")
        #expect(!run.bytes.isEmpty, "\(what)")
        #expect(throws: Never.self, "\(what): \(String(decoding: run.bytes, as: UTF8.self))") {
          _ = try TerminalToken.tokens(run.bytes)
        }
      }
    }
  }

  @Test
  func `no raw control character reaches it while bars are shown and a run is interrupted`()
    async throws
  {
    let path = "/\(Self.encoded)"
    try await CommandFixture.with(CommandFixture.file(path, Fault(.stall(after: 1 << 20)))) {
      fixture in
      let run = try await TerminalRun(
        ["get", fixture.server.url(path), "-x", "1"], in: fixture.directory, width: 120)
      try await run.reach("a bar") { String(decoding: $0, as: UTF8.self).contains("33%") }
      run.send(SIGINT)
      #expect(await run.end() == 130)
      let text = String(decoding: run.bytes, as: UTF8.self)
      #expect(text.contains("owned"), "the name must be visible: \(text)")
      #expect(throws: Never.self) { _ = try TerminalToken.tokens(run.bytes) }
    }
  }

  @Test
  func `a path that is not UTF-8 is requested unchanged, and escaped in messages`() async throws {
    try await CommandFixture.with(CommandFixture.file("/a%9B31m.bin"), CommandFixture.file("/")) {
      fixture in
      let run = try await TerminalRun(
        ["get", fixture.server.url("/a%9B31m.bin")], in: fixture.directory)
      #expect(await run.end() == 0)
      #expect(throws: Never.self) { _ = try TerminalToken.tokens(run.bytes) }
      #expect(Set(fixture.server.snapshot.requests.map(\.target)) == ["/a%9B31m.bin"])
    }
  }

  @Test func `a wrong argument is escaped in its message`() async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let text = "\u{1B}[2J\u{9B}31m\u{202E}\n\u{7}"
      for arguments in [
        ["get", "x\(text)"], ["get", "http://h/x", "-o", "\(text)/"], ["get", "--\(text)"],
        ["\(text)"], ["get", "http://h/x", "-H", text], ["verify", text, "--checksum", text],
        ["get", "http://h/x", "-H", "@\(text)"], ["get", "http://h/x", "-j", text],
        ["get", "http://h/x", "--cacert", text],
        ["get", fixture.server.url("/file.bin"), "-d", text],
      ] {
        let run = try await TerminalRun(arguments, in: fixture.directory)
        _ = await run.end()
        #expect(throws: Never.self, "\(arguments): \(String(decoding: run.bytes, as: UTF8.self))") {
          _ = try TerminalToken.tokens(run.bytes)
        }
      }
    }
  }

  @Test func `the check finds a raw control sequence in any place`() {
    for raw in [
      Array("name\u{1B}[2J".utf8), Array("\u{1B}]0;owned\u{7}".utf8), [0x61, 0x9B, 0x33],
      Array("\u{9B}31m".utf8), Array("\u{202E}gpj".utf8), Array("a\u{7F}".utf8),
      Array("\u{2028}".utf8), Array("\u{1B}".utf8), Array("\u{1B}[31m".utf8), [0],
    ] {
      #expect(throws: TerminalToken.Refused.self) { _ = try TerminalToken.tokens(raw) }
    }
  }
}
