import HaulCore
import HaulTesting
import Testing

/// The name that the server suggests (--remote-name).
@Suite struct ServerNameTests {
  private static let length: Int64 = 300_000

  private func with(
    _ disposition: String?, _ faults: Fault..., body: (DownloadFixture) async throws -> Void
  ) async throws {
    let resource = FaultScript.Resource("/url.bin", seed: 9, length: Self.length, faults: faults)
      .with { $0.contentDisposition = disposition }
    try await DownloadFixture.with([resource], body)
  }

  private func finish(
    _ fixture: DownloadFixture, as name: String? = nil,
    _ change: (inout DownloadRequest) -> Void = { _ in }
  ) async throws -> DownloadFixture.Outcome {
    try await fixture.finish(
      try fixture.request("/url.bin", as: name) {
        $0.usesSuggestedName = true
        $0.connections = 1
        change(&$0)
      })
  }

  static let suggestions: [(String, String)] = [
    (#"attachment; filename="plain.txt""#, "plain.txt"),
    (#"attachment; filename="old.txt"; filename*=UTF-8''n%C3%A9w.txt"#, "néw.txt"),
    (#"attachment; filename*=UTF-8''%2e%2e%2fup.txt; filename="x""#, "up.txt"),
    (#"attachment; filename*=UTF-8''%FF.txt; filename="good.txt""#, "good.txt"),
    (#"attachment; filename="../../etc/passwd""#, "passwd"),
    (#"attachment; filename="/etc/shadow""#, "shadow"),
    (#"attachment; filename="..\\..\\boot.ini""#, "boot.ini"),
    (#"attachment; filename="C:evil.txt""#, "C_evil.txt"),
    (#"attachment; filename=".bashrc""#, "_.bashrc"),
    (#"attachment; filename="-rf""#, "_-rf"), (#"attachment; filename="~""#, "_~"),
    (#"attachment; filename="..""#, "url.bin"), (#"attachment; filename="""#, "url.bin"),
    (#"attachment; filename="dir/""#, "url.bin"), ("attachment", "url.bin"),
    (#"attachment; filename="a"; filename="b""#, "a"),
    (#"attachment; filename="open"#, "open"),
    (#"attachment; filename="C:\Users\anna\x.txt""#, "x.txt"),
    (#"attachment; filename*=UTF-8''abc%E2%80%AEgpj.exe"#, "abcgpj.exe"),
    (#"attachment; filename*=UTF-8''a%00b%0Ac%1B.txt"#, "abc.txt"),
    (#"attachment; filename="CON.txt""#, "_CON.txt"),
    (#"attachment; filename="desktop.ini""#, "_desktop.ini"),
    (#"attachment; filename="run.lnk""#, "run.lnk.download"),
    (#"attachment; filename="a.txt. . ""#, "a.txt"),
  ]

  @Test(arguments: suggestions)
  func `Case 69: any suggested name becomes one harmless name in the directory`(
    disposition: String, name: String
  ) async throws {
    try await with(disposition) { fixture in
      let outcome = try await finish(fixture)
      try #require(try fixture.names() == [name])
      try fixture.expectWhole(name, seed: 9, length: Int(Self.length), outcome)
      #expect(
        fixture.server.snapshot.requestCount("/url.bin") == 1, "the first answer is the file's")
    }
  }

  @Test func `Case 69: a name of 300 bytes is cut and keeps its extension`() async throws {
    let long = String(repeating: "x", count: 300) + ".tar.gz"
    try await with("attachment; filename=\"\(long)\"") { fixture in
      let outcome = try await finish(fixture)
      let name = try #require(try fixture.names().first)
      #expect(name.hasSuffix("x.tar.gz"))
      #expect(name.utf8.count <= FileName.byteLimit)
      try fixture.expectWhole(name, seed: 9, length: Int(Self.length), outcome)
    }
  }

  @Test func `Case 69: control characters in the raw field are harmless`() async throws {
    try await with(nil, Fault(.hostileText(place: .disposition))) { fixture in
      _ = try await finish(fixture)
      for name in try fixture.names() {
        #expect(
          !name.unicodeScalars.contains { $0.value < 0x20 || (0x7F..<0xA0).contains($0.value) })
        #expect(!name.contains("\u{202E}"))
      }
    }
  }

  @Test
  func `Case 70: an exact path overrides it, and without the option it is not used`() async throws {
    try await with(#"attachment; filename="server.txt""#) { fixture in
      _ = try await finish(fixture, as: "mine.bin")
      _ = try await finish(fixture) { $0.usesSuggestedName = false }
      #expect(try fixture.names() == ["mine.bin", "url.bin"])
    }
  }

  @Test func `An existing file of that name is not overwritten by default`() async throws {
    try await with(#"attachment; filename="server.txt""#) { fixture in
      try fixture.put([1], as: "server.txt")
      try fixture.expectFailure(.nameConflict, try await finish(fixture) { $0.ifExists = .fail })
      let skipped = try await finish(fixture) { $0.ifExists = .skip }
      #expect(skipped.result.state == .completed)
      #expect(try fixture.contents("server.txt") == [1])
      let outcome = try await finish(fixture)
      try fixture.expectWhole("server (1).txt", seed: 9, length: Int(Self.length), outcome)
      #expect(try fixture.contents("server.txt") == [1])
      let again = try await finish(fixture) { $0.ifExists = .overwrite }
      try fixture.expectWhole("server.txt", seed: 9, length: Int(Self.length), again)
    }
  }

  @Test func `An interrupted download resumes under the server's name`() async throws {
    try await with(
      #"attachment; filename="server.bin""#, Fault(.stall(after: 200_000), when: .request(1))
    ) { fixture in
      let request = try fixture.request("/url.bin") {
        $0.usesSuggestedName = true
        $0.connections = 1
      }
      try await fixture.interrupt(request, at: 200_000)
      #expect(try fixture.names() == ["server.bin.haul.journal", "server.bin.haul.part"])
      let outcome = try await finish(fixture)
      try fixture.expectWhole("server.bin", seed: 9, length: Int(Self.length), outcome)
      #expect(outcome.result.reused == 200_000)
      #expect(fixture.server.snapshot.requests("/url.bin").last?.range == "bytes=200000-299999")
    }
  }

  @Test
  func `Failures before the first answer are retried, and nothing is written before it`()
    async throws
  {
    try await with(
      #"attachment; filename="server.bin""#, Fault(.status(500), when: .request(1))
    ) { fixture in
      let outcome = try await finish(fixture)
      #expect(outcome.attempts == 1)
      try fixture.expectWhole("server.bin", seed: 9, length: Int(Self.length), outcome)
    }
    try await with(nil, Fault(.status(404))) { fixture in
      try fixture.expectFailure(.notFound, try await finish(fixture))
      #expect(try fixture.names().isEmpty)
    }
  }

  @Test func `A pause before the first answer leaves no file`() async throws {
    try await with(nil, Fault(.stallBeforeHead)) { fixture in
      let server = fixture.server
      let request = try fixture.request("/url.bin") { $0.usesSuggestedName = true }
      let outcome = try await fixture.run(
        request, interruption: { try await server.waitForHeld("/url.bin") })
      #expect(outcome == nil)
      #expect(try fixture.names().isEmpty)
    }
  }

  @Test func `An empty file has a name too`() async throws {
    let resource = FaultScript.Resource("/url.bin", seed: 9, length: 0).with {
      $0.contentDisposition = #"attachment; filename="server.txt""#
    }
    try await DownloadFixture.with([resource]) { fixture in
      let outcome = try await finish(fixture)
      #expect(outcome.result.state == .completed)
      #expect(try fixture.names().count == 1)
    }
  }
}
