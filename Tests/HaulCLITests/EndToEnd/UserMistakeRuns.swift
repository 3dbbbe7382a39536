import Foundation
import HaulTesting
import Testing

/// Common mistakes of users.
@Suite(.timeLimit(.minutes(10))) struct UserMistakeRuns {
  @Test func `A binary file is not written to a terminal; a text is`() async throws {
    let text = CommandFixture.file("/text").with {
      $0.faults = [Fault(.respond(status: 200, body: "haul\n"))]
    }
    try await CommandFixture.with(CommandFixture.file(), text) { fixture in
      let binary = try await TerminalRun(
        ["get", "-o", "-", fixture.server.url("/file.bin")], in: fixture.directory)
      #expect(await binary.end() == 1)
      let shown = String(decoding: binary.bytes, as: UTF8.self)
      #expect(shown.contains("save it with -o FILE, or add | cat"), "\(shown)")
      #expect(shown.utf8.count < 1000)
      let plain = try await TerminalRun(
        ["get", "-o", "-", fixture.server.url("/text")], in: fixture.directory)
      #expect(await plain.end() == 0)
      #expect(String(decoding: plain.bytes, as: UTF8.self).contains("haul\r\n"))
    }
  }

  @Test func `-o /dev/null discards the bytes, /dev/stdout is standard output`() async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let url = fixture.server.url("/file.bin")
      let nowhere = try await fixture.haul(["get", "-o", "/dev/null", url])
      #expect(nowhere.status == 0 && nowhere.output.isEmpty)
      #expect(nowhere.errors.contains("complete, 3.0 MiB"))
      let out = try await fixture.haul(["get", "-q", "-o", "/dev/stdout", url])
      #expect(out.status == 0 && !out.output.isEmpty && out.errors.isEmpty)
      #expect(try fixture.names().isEmpty)
    }
  }

  @Test func `A path that is not UTF-8 is refused, not written under another name`() async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      func shell(_ command: String) async throws -> CommandResult {
        let whole = "d=$(printf 'na\\357ve'); mkdir -p $d; \(command); s=$?; ls; exit $s"
        return try await CommandRun(
          ["-c", whole], in: fixture.directory, program: "/bin/sh"
        ).end()
      }
      let (haul, url) = (CommandRun.executable.path, fixture.server.url("/file.bin"))
      let named = try await shell("'\(haul)' get '\(url)' -d $d")
      #expect(named.status == 2 && named.errors.contains("'na\\xEFve'"), "\(named.errors)")
      #expect(named.output.split(separator: "\n").count == 1)
      // Only the shell stands in that directory.
      let added = try await shell("(cd $d && '\(haul)' add '\(url)')")
      #expect(added.status == 2 && added.errors.contains("working directory"), "\(added.errors)")
      #expect(added.output.split(separator: "\n").count == 1)
    }
  }

  @Test func `serve names a port that another program uses, and what to do`() async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let address = "127.0.0.1:\(fixture.server.port)"
      let result = try await fixture.haul(
        ["serve", "--listen", address], environment: ["XDG_STATE_HOME": fixture.path("s")])
      #expect(result.status == 1)
      let text = "haul: cannot listen at \(address): another program uses that port; choose another"
      #expect(result.errors.contains(text), "\(result.errors)")
    }
  }

  @Test func `list and add say the same of a state directory that cannot be`() async throws {
    try await CommandFixture.with { fixture in
      try Data().write(to: URL(filePath: fixture.path("file")))
      let environment = ["XDG_STATE_HOME": fixture.path("file")]
      let list = try await fixture.haul(["list"], environment: environment)
      let add = try await fixture.haul(["add", "http://127.0.0.1:1/x"], environment: environment)
      #expect(list.errors == add.errors && list.status == 1)
      #expect(list.errors.contains("; set XDG_STATE_HOME to another one"), "\(list.errors)")
    }
  }

  @Test func `401 says whether a password was wrong or not sent`() async throws {
    let closed = CommandFixture.file().with { $0.faults = [Fault(.respond(status: 401))] }
    try await CommandFixture.with(closed) { fixture in
      let url = fixture.server.url("/file.bin")
      let none = try await fixture.haul(["get", url])
      #expect(
        none.errors.contains("answered 401; give a user name and a password (--user, or --netrc"))
      let wrong = try await fixture.haul(["get", url.replacing("://", with: "://me:pw@")])
      #expect(wrong.errors.contains("answered 401; wrong user name or password"))
      #expect(!wrong.errors.contains("pw"))
      try Data("token\n".utf8).write(to: URL(filePath: fixture.path("token")))
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o600], ofItemAtPath: fixture.path("token"))
      let token = try await fixture.haul(["get", "--bearer-file", "token", url])
      #expect(token.errors.contains("the token is wrong or has expired"))
    }
  }

  @Test(arguments: [
    (
      ["-d", "/proc/x"],
      "cannot make the directory /proc/x: No such file or directory; no directory"
    ),
    (
      ["-o", "x/y/z"], "there is no directory x/y; create it first (mkdir -p), or name it with -d"
    ),
    (["-d", "file/x"], "Not a directory"),
  ])
  func `An unwritable directory is reported with the true reason`(options: [String], text: String)
    async throws
  {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      try Data().write(to: URL(filePath: fixture.path("file")))
      let result = try await fixture.haul(["get", fixture.server.url("/file.bin")] + options)
      #expect(result.status == 1)
      #expect(result.errors.contains(text), "\(result.errors)")
      #expect(fixture.server.snapshot.requests.isEmpty)
    }
  }

  @Test func `An invalid journal is reported by name`() async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      try Data("garbage".utf8).write(to: URL(filePath: fixture.path("file.bin.haul.journal")))
      let result = try await fixture.haul([
        "get", "-o", "file.bin", fixture.server.url("/file.bin"),
      ])
      #expect(result.status == 1)
      #expect(
        result.errors.contains("file.bin.haul.journal is not a journal"),
        "\(result.errors)")
    }
  }

  @Test func `probe reports retries, as get does`() async throws {
    let busy = CommandFixture.file().with {
      $0.faults = [Fault(.respond(status: 503), when: .request(1))]
    }
    try await CommandFixture.with(busy) { fixture in
      let result = try await fixture.haul(["probe", fixture.server.url("/file.bin")])
      #expect(result.status == 0)
      #expect(result.errors.contains("answered 503; attempt 1 failed; retrying "))
    }
  }

  @Test func `verify follows symbolic links, and names a broken one`() async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      _ = try await fixture.get()
      let hex = SeededContent.sha256Hex(seed: CommandFixture.seed, length: CommandFixture.length)
      for (name, target) in [("link", "file.bin"), ("lost", "none")] {
        try FileManager.default.createSymbolicLink(
          atPath: fixture.path(name), withDestinationPath: target)
        let result = try await fixture.haul(["verify", name, "--checksum", "sha-256=\(hex)"])
        #expect(result.status == (name == "link" ? 0 : 1), "\(result.errors)")
      }
    }
  }

  @Test func `The same address twice is downloaded once, with a warning`() async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let url = fixture.server.url("/file.bin")
      let result = try await fixture.haul(["get", url, url])
      #expect(result.status == 0)
      #expect(result.errors.contains("is given twice and is downloaded once"))
      #expect(try fixture.names() == ["file.bin"])
    }
  }

  @Test func `The first line has the final name`() async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      try Data("mine".utf8).write(to: URL(filePath: fixture.path("file.bin")))
      let result = try await fixture.haul(["get", "--json", fixture.server.url("/file.bin")])
      #expect(result.status == 0)
      #expect(
        result.errorLines.contains { $0.hasPrefix("file (1).bin: started") }, "\(result.errors)")
      let lines = try result.output.split(separator: "\n").map {
        try JSONValue(parsing: String($0))
      }
      #expect(
        lines.contains { $0["type"] == .string("target") && $0["path"] == .string("file (1).bin") })
      let last = try #require(lines.last { $0["type"] == .string("progress") })
      guard case .integer(let rate)? = last["rate"] else { throw UsageProblem.noRate }
      #expect(rate > 0)
    }
  }

  private enum UsageProblem: Error { case noRate }

  @Test func `An unexpected coding is reported at the end, and --decode decodes it`() async throws {
    let coded = CommandFixture.file().with {
      $0.faults = [
        Fault(
          .addHeaders(fields: ["Content-Encoding: gzip"]),
          .body(base64: "H4sIAAAAAAACA8tILM3hAgD5PF2XBQAAAA=="))
      ]
    }
    try await CommandFixture.with(coded) { fixture in
      let url = fixture.server.url("/file.bin")
      let sent = try await fixture.haul(["get", "--json", "-o", "sent", url])
      #expect(sent.errors.contains("encoded with gzip (--decode undoes that)"), "\(sent.errors)")
      #expect(sent.output.contains("\"coding\":\"gzip\""))
      #expect(try fixture.contents("sent").count == 25)
      let plain = try await fixture.haul(["get", "--decode", "-o", "plain", url])
      #expect(plain.status == 0, "\(plain.errors)")
      #expect(try fixture.contents("plain") == Array("haul\n".utf8))
    }
  }

  @Test(arguments: ["zstd", "aws-chunked", "utf-8", "gzip, br"])
  func `--decode is suggested only for codings that it can decode`(coding: String) async throws {
    let coded = CommandFixture.file().with {
      $0.faults = [Fault(.addHeaders(fields: ["Content-Encoding: \(coding)"]))]
    }
    try await CommandFixture.with(coded) { fixture in
      let sent = try await fixture.haul(["get", "-o", "sent", fixture.server.url("/file.bin")])
      #expect(sent.status == 0)
      #expect(sent.errors.contains("encoded with \(coding)"), "\(sent.errors)")
      #expect(!sent.errors.contains("--decode"))
    }
  }
}
