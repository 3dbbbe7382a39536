import HaulTesting
import Testing

/// Runs of `haul probe`, and of `--remote-name`.
@Suite(.timeLimit(.minutes(10))) struct ProbeRuns {
  private static func named(_ faults: Fault...) -> FaultScript.Resource {
    CommandFixture.file().with {
      $0.contentDisposition = #"attachment; filename="../server.iso""#
      $0.faults = faults
    }
  }

  @Test func `A table shows the server's answer; nothing is written`() async throws {
    try await CommandFixture.with(Self.named()) { fixture in
      let result = try await fixture.haul(["probe", fixture.server.url("/file.bin?token=secret")])
      #expect(result.status == 0, "\(result.errors)")
      #expect(result.errors == "")
      #expect(!result.output.contains("secret"))
      for text in ["3.0 MiB (3145728 bytes)", "HTTP/1.1, status 206", "up to 2 connections"] {
        #expect(result.output.contains(text), "\(result.output)")
      }
      #expect(try fixture.names().isEmpty)
    }
  }

  @Test func `One JSON object, also for a failure`() async throws {
    try await CommandFixture.with(Self.named()) { fixture in
      let result = try await fixture.haul(["probe", "--json", fixture.server.url("/file.bin")])
      let object = try JSONValue(parsing: result.output)
      let schema = try JSONSchema(published: "probe.json")
      #expect(try schema.violations(of: object) == [])
      #expect(object["type"] == .string("probe"))
      #expect(object["length"] == .integer(CommandFixture.length))
      #expect(object["name"] == .string("file.bin"))
      #expect(object["final_url"] != .null && object["http_version"] == .string("HTTP/1.1"))
      #expect(object["plan"]?["connections"] == .integer(2))
      #expect(object["error"] == .null)
      let failed = try await fixture.haul(["probe", "--json", fixture.server.url("/none")])
      #expect(failed.status == 1)
      #expect(failed.failures.count == 1)
      let end = try JSONValue(parsing: failed.output)
      #expect(try schema.violations(of: end) == [])
      #expect(end["error"]?["code"] == .string("not-found"))
      #expect(end["status"] == .integer(404) && end["error"]?["status"] == .integer(404))
      #expect(try await fixture.haul(["probe"]).status == 2)
      #expect(try await fixture.haul(["probe", "example.org/x"]).status == 2)
    }
  }

  @Test func `-v shows each request and each answer, without secrets`() async throws {
    let busy = Self.named(Fault(.status(500), when: .request(1)))
    try await CommandFixture.with(busy) { fixture in
      let url = fixture.server.url("/file.bin?token=secret")
      let probed = try await fixture.haul(["probe", "-v", url])
      #expect(probed.status == 0, "\(probed.errors)")
      Self.expectReported(probed, answers: ["500", "206"])
    }
    try await CommandFixture.with(busy) { fixture in
      let arguments = ["get", "-v", "-x", "1", "--remote-name", fixture.server.url("/file.bin")]
      Self.expectReported(try await fixture.haul(arguments), answers: ["500", "206"])
    }
  }

  private static func expectReported(
    _ result: CommandResult, answers: [String], sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let reported = result.errorLines.filter { $0.contains(": answer ") }
    #expect(
      reported.count == answers.count
        && zip(reported, answers).allSatisfy { $0.contains("answer \($1) HTTP/1.1 from http://") },
      "\(result.errors)", sourceLocation: sourceLocation)
    let asked = result.errorLines.filter { $0.contains(": request for http://") }
    #expect(asked.count == answers.count, "\(result.errors)", sourceLocation: sourceLocation)
    #expect(!result.errors.contains("secret"), sourceLocation: sourceLocation)
  }

  @Test func `Options of get that change the request are accepted`() async throws {
    try await CommandFixture.with(Self.named()) { fixture in
      let url = fixture.server.url("/file.bin")
      func plan(_ options: String...) async throws -> JSONValue { try await plan(options) }
      func plan(_ options: [String]) async throws -> JSONValue {
        try JSONValue(parsing: try await fixture.haul(["probe", "--json", url] + options).output)
      }
      let named = try await plan("--remote-name")
      #expect(named["name"] == .string("server.iso"))
      for options in [["-x", "1"], ["--min-split", "4M"]] {
        let single = try await plan(options)
        #expect(single["plan"]?["connections"] == .integer(1), "\(options)")
      }
      let unverified = try await plan("--allow-unverified")
      #expect(unverified["plan"]?["resume"] == .bool(true))
    }
  }

  @Test(arguments: [[], ["--json"]])
  func `Untrusted text is escaped`(options: [String]) async throws {
    let fields = [
      "ETag: \"\u{202E}x\"", "Content-Type: a/\u{85}b", "Last-Modified: \u{2028}",
    ]
    try await CommandFixture.with(
      CommandFixture.file("/file.bin", Fault(.setHeaders(fields: fields)))
    ) { fixture in
      let result = try await fixture.haul(["probe", fixture.server.url("/file.bin")] + options)
      #expect(result.status == 0, "\(result.errors)")
      for scalar in result.output.unicodeScalars where scalar != "\n" {
        let category = scalar.properties.generalCategory
        #expect(![.control, .format, .lineSeparator].contains(category), "\(scalar.value)")
      }
    }
  }

  @Test
  func `--remote-name saves under the server's name, made safe; -o overrides it`() async throws {
    try await CommandFixture.with(Self.named()) { fixture in
      #expect(try await fixture.get("/file.bin", "--remote-name").status == 0)
      try fixture.expectWhole("server.iso")
      #expect(try await fixture.get("/file.bin", "--remote-name", "-o", "mine").status == 0)
      #expect(try fixture.names() == ["mine", "server.iso"])
    }
  }
}
