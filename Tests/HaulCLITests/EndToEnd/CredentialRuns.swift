import Foundation
import HaulTesting
import Testing

/// Secrets from files.
@Suite(.serialized, .timeLimit(.minutes(10))) struct CredentialRuns {
  private func write(
    _ text: String, to name: String, mode: Int = 0o600, in fixture: CommandFixture
  ) throws {
    try Data(text.utf8).write(to: URL(filePath: fixture.path(name)))
    try FileManager.default.setAttributes(
      [.posixPermissions: mode], ofItemAtPath: fixture.path(name))
  }

  @Test(arguments: [0o644, 0o640, 0o604, 0o620, 0o601])
  func `A file of secrets that others can read or change is refused, and no request is sent`(
    mode: Int
  ) async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let url = fixture.server.url("/file.bin")
      try write("machine 127.0.0.1 login u password canary", to: ".netrc", mode: mode, in: fixture)
      try write("canary", to: "secret", mode: mode, in: fixture)
      for options in [
        ["--netrc"], ["--bearer-file", "secret"], ["--user", "u", "--password-file", "secret"],
        ["--user", "u"],
      ] {
        let result = try await fixture.haul(["get", url] + options)
        #expect(result.status == 2)
        #expect(result.failures.count == 1 && result.errors.contains("chmod 600"))
        #expect(!result.errors.contains("canary"))
      }
      #expect(fixture.server.snapshot.requests.isEmpty)
    }
  }

  @Test
  func `A file that everybody can change is refused, also if it has no secret`() async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let url = fixture.server.url("/file.bin")
      try write("127.0.0.1\tFALSE\t/\tFALSE\t0\ts\tv\n", to: "jar", mode: 0o666, in: fixture)
      try write("X-Key: v\n", to: "fields", mode: 0o646, in: fixture)
      try write(url + "\n", to: "list", mode: 0o602, in: fixture)
      for options in [
        [url, "--cookie-file", "jar"], [url, "-H", "@fields"], ["-i", "list"],
      ] {
        let result = try await fixture.haul(["get"] + options)
        #expect(result.status == 2)
        #expect(result.failures.count == 1 && result.errors.contains("chmod o-w"))
      }
      #expect(fixture.server.snapshot.requests.isEmpty)
    }
  }

  @Test func `Bytes that are not UTF-8 do no harm in lines that are not needed`() async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let url = fixture.server.url("/file.bin")
      let lines = "127.0.0.1\tFALSE\t/\tFALSE\t0\tsid\tv\no.test\tFALSE\t/\tFALSE\t0\tc\tK"
      try (Data(lines.utf8) + [0xF6]).write(to: URL(filePath: fixture.path("jar")))
      try write("", to: ".netrc", in: fixture)
      try (Data("# B".utf8) + [0xFC] + Data("\nmachine 127.0.0.1 login u password p".utf8))
        .write(to: URL(filePath: fixture.path(".netrc")))
      let result = try await fixture.haul(["get", url, "--netrc", "--cookie-file", "jar"])
      #expect(result.status == 0, "\(result.errors)")
      let request = try #require(fixture.server.snapshot.requests.first)
      #expect(request.header("Cookie") == "sid=v")
      #expect(request.header("Authorization") == "Basic \(Data("u:p".utf8).base64EncodedString())")
    }
  }

  @Test
  func `Secrets of a private file are sent to its host, and never to another origin`() async throws
  {
    try await CommandFixture.with(
      CommandFixture.file("/file.bin"), CommandFixture.file("/away.bin")
    ) { fixture in
      let url = fixture.server.url("/file.bin")
      let other = url.replacing("127.0.0.1", with: "localhost")
      fixture.server.setFaults("/away.bin", [Fault(.redirect(location: other))])
      try write("machine 127.0.0.1 login u password canary", to: ".netrc", in: fixture)
      try write(
        "127.0.0.1\tFALSE\t/\tFALSE\t0\tsession\tcanary\n", to: "jar", mode: 0o644, in: fixture)
      let options = ["--netrc", "--cookie-file", "jar", "-x", "1", "-v"]
      let result = try await fixture.haul(
        ["get", fixture.server.url("/away.bin"), "-o", "file.bin"] + options)
      #expect(result.status == 0, "\(result.errors)")
      try fixture.expectWhole()
      let requests = fixture.server.snapshot.requests
      let basic = "Basic \(Data("u:canary".utf8).base64EncodedString())"
      let first = try #require(requests.first)
      #expect(first.header("Authorization") == basic)
      #expect(first.header("Cookie") == "session=canary")
      let away = requests.filter { $0.target == "/file.bin" }
      #expect(!away.isEmpty)
      #expect(away.allSatisfy { $0.header("Authorization") == nil && $0.header("Cookie") == nil })
      for text in [result.output, result.errors] {
        #expect(!text.contains("canary") && !text.contains(basic))
      }
    }
  }

  @Test(arguments: [
    ["--user", "me", "--password-file", "secret"], ["--user", "me"], ["--bearer-file", "secret"],
    ["--netrc"], ["--cookie", "s=canary"], ["--cookie-file", "jar"], ["-H", "@fields"],
    ["-i", "list"],
  ])
  func `No secret is in an output, a log or the journal, however the run ends`(options: [String])
    async throws
  {
    let environment = options == ["--user", "me"] ? ["HAUL_PASSWORD": "canary"] : [:]
    try await CommandFixture.with(CommandFixture.file("/file.bin", .always(.stall(after: 1 << 20))))
    {
      fixture in
      let url = fixture.server.url("/file.bin")
      try write("canary\n", to: "secret", in: fixture)
      try write("machine 127.0.0.1 login me password canary", to: ".netrc", in: fixture)
      try write("127.0.0.1\tFALSE\t/\tFALSE\t0\ts\tcanary\n", to: "jar", in: fixture)
      try write("X-Key: canary\n", to: "fields", in: fixture)
      try write("\(url)?token=canary\n  header=X-Key: canary\n", to: "list", in: fixture)
      let addresses = options.first == "-i" ? [] : [url]
      let command = ["get", "--json", "-v", "-x", "1"] + options + addresses

      let held = try await CommandRun(
        command, in: fixture.directory, environment: environment)
      try await fixture.server.waitForHeld("/file.bin")
      let request = try #require(fixture.server.snapshot.requests.first)
      let basic = Data("me:canary".utf8).base64EncodedString()
      let sent = ["Authorization", "Cookie", "X-Key"].compactMap { request.header($0) }
      #expect(sent.count == 1)
      #expect(sent.allSatisfy { $0.contains("canary") || $0 == "Basic \(basic)" })
      held.send(SIGINT)
      var results = [await held.end()]
      var texts = try fixture.names().filter { $0.hasPrefix("file.bin") }
      for name in texts where name.hasSuffix(".journal") {
        texts.append(String(decoding: try fixture.contents(name), as: UTF8.self))
      }
      for faults in [[Fault(.status(403))], []] {
        fixture.server.setFaults("/file.bin", faults)
        results.append(try await fixture.haul(command, environment: environment))
      }
      #expect(results.map(\.status) == [130, 1, 0])
      texts += results.flatMap { [$0.output, $0.errors] }
      #expect(!texts.contains { $0.contains("canary") || $0.contains(basic) })
    }
  }

  @Test func `HAUL_PASSWORD is the password of --user`() async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let url = fixture.server.url("/file.bin")
      let known = try await fixture.haul(
        ["get", "-q", url, "--user", "u"], environment: ["HAUL_PASSWORD": "p"])
      #expect(known.status == 0)
      #expect(
        fixture.server.snapshot.requests.first?.header("Authorization")
          == "Basic \(Data("u:p".utf8).base64EncodedString())")
    }
  }

  @Test
  func `The configuration file is read; an unreadable one is an error, a missing one is not`()
    async throws
  {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let url = fixture.server.url("/file.bin")
      let directory = fixture.path(".config/haul")
      try FileManager.default.createDirectory(
        atPath: directory, withIntermediateDirectories: true)
      #expect(try await fixture.haul(["get", "-q", url, "-o", "a"]).status == 0)
      try write(
        "\u{FEFF}# mine\r\ndirectory = sub\r\nquiet\r\n", to: ".config/haul/haul.conf", in: fixture)
      let configured = try await fixture.haul(["get", url])
      #expect(configured.status == 0 && configured.errors.isEmpty)
      try fixture.expectWhole("sub/file.bin")
      try write("directoy = sub\n", to: ".config/haul/haul.conf", in: fixture)
      let wrong = try await fixture.haul(["get", url])
      #expect(wrong.status == 2)
      #expect(
        wrong.errors.contains("haul.conf: line 1: unknown option directoy"), "\(wrong.errors)")
      try FileManager.default.removeItem(atPath: fixture.path(".config/haul/haul.conf"))
      try FileManager.default.createDirectory(
        atPath: fixture.path(".config/haul/haul.conf"), withIntermediateDirectories: true)
      let unreadable = try await fixture.haul(["get", url])
      #expect(unreadable.status == 2)
      #expect(unreadable.errors.contains("cannot be read"), "\(unreadable.errors)")
    }
  }

  @Test
  func `Every address of a list is downloaded with its own options; a wrong line starts nothing`()
    async throws
  {
    try await CommandFixture.with(CommandFixture.file("/a.bin"), CommandFixture.file("/b.bin")) {
      fixture in
      let (a, b) = (fixture.server.url("/a.bin"), fixture.server.url("/b.bin"))
      try write(
        "\u{FEFF}\(a)\r\n  out=x.bin\r\n  header=X-Mine: 1\r\n# no\r\n\(b)\r\n", to: "list",
        in: fixture)
      let result = try await fixture.haul(["get", "--json", "-i", "list", "-d", "sub"])
      #expect(result.status == 0, "\(result.errors)")
      try fixture.expectWhole("sub/b.bin")
      #expect(try fixture.names("sub") == ["b.bin", "x.bin"])
      let requests = fixture.server.snapshot.requests
      #expect(requests.filter { $0.target == "/a.bin" }.allSatisfy { $0.header("X-Mine") == "1" })
      #expect(requests.filter { $0.target == "/b.bin" }.allSatisfy { $0.header("X-Mine") == nil })

      try write("\(a)\n  o\u{1B}ut=x\n", to: "list", in: fixture)
      let wrong = try await fixture.haul(["get", "-i", "list"])
      #expect(wrong.status == 2)
      #expect(wrong.errors.contains(#"list: line 2: unknown key o\x1but"#), "\(wrong.errors)")
      #expect(fixture.server.snapshot.requests.count == requests.count)
    }
  }
}
