import Foundation
import HaulTesting
import Testing

/// Runs of `haul put --if-exists skip` and `update`.
@Suite(.serialized, .timeLimit(.minutes(10))) struct IncrementalPutRuns {
  private func with(
    _ body: (CommandFixture, _ haul: ([String]) async throws -> CommandResult) async throws -> Void
  ) async throws {
    let store = FaultScript.Resource("/bucket/", length: 0).with { $0.service = .s3 }
    let plain = FaultScript.Resource("/dav/", length: 0).with { $0.service = .webDAV }
    try await CommandFixture.with([store, plain]) { fixture in
      let environment = [
        "AWS_ENDPOINT_URL_S3": fixture.server.origin, "AWS_ACCESS_KEY_ID": "id",
        "AWS_SECRET_ACCESS_KEY": "secret", "XDG_STATE_HOME": fixture.path("state"),
      ]
      try FileManager.default.createDirectory(
        atPath: fixture.path("site"), withIntermediateDirectories: false)
      for name in ["a", "b"] { try write("first \(name)", to: name, in: fixture) }
      try await body(fixture) { try await fixture.haul($0, environment: environment) }
    }
  }

  private func write(_ text: String, to name: String, in fixture: CommandFixture) throws {
    try Data(text.utf8).write(to: URL(filePath: fixture.path("site/\(name)")))
  }

  private func sent(_ fixture: CommandFixture) -> [String] {
    fixture.server.snapshot.requests.filter { $0.method == "PUT" }.map(\.path).sorted()
  }

  @Test func `a site that has not changed is not sent again, and what has changed is`() async throws
  {
    try await with { (fixture, haul) async throws in
      let put = ["put", "--if-exists", "update", "site/", "s3://bucket/site/"]
      let first = try await haul(put)
      #expect(first.status == 0, "\(first.errors)")
      #expect(sent(fixture) == ["/bucket/site/a", "/bucket/site/b"])
      let second = try await haul(put)
      #expect(second.status == 0 && sent(fixture).count == 2)
      #expect(second.errors.contains("a: complete, 7 B already there, checksum verified"))
      // The same length, and an older date.
      try write("other a", to: "a", in: fixture)
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 1_000_000_000)],
        ofItemAtPath: fixture.path("site/a"))
      #expect(try await haul(put).status == 0)
      #expect(sent(fixture) == ["/bucket/site/a", "/bucket/site/a", "/bucket/site/b"])
      #expect(
        fixture.server.files(below: "/bucket/")["/bucket/site/a"] == Array("other a".utf8))
    }
  }

  @Test(arguments: ["s3://bucket/site/", "dav+", ""])
  func `what is there is skipped, with status 0 and the fields of a download`(
    place: String
  ) async throws {
    try await with { (fixture, haul) async throws in
      let address = place.hasPrefix("s3") ? place : place + fixture.server.url("/dav/")
      #expect(try await haul(["put", "site/a", address]).status == 0)
      let count = sent(fixture).count
      try write("longer than before", to: "a", in: fixture)
      let put = ["put", "--if-exists", "skip", "site/a", address]
      let skipped = try await haul(put)
      #expect(skipped.status == 0 && sent(fixture).count == count)
      #expect(
        skipped.errors.contains("a: skipped, a file of that name exists (7 B, not checked)"),
        "\(skipped.errors)")
      let events = try await haul(put + ["--json"]).events()
      let end = try #require(events.finished.first)
      #expect(end["state"]?.string == "completed" && end["verified"] == .null)
      #expect(
        [end["bytes"], end["reused"], end["fetched"]]
          == [.integer(7), .integer(7), .integer(0)])
    }
  }

  @Test func `a manifest does not take a skipped file for one that was sent`() async throws {
    try await with { (fixture, haul) async throws in
      #expect(try await haul(["put", "site/a", "s3://bucket/"]).status == 0)
      try write("other a", to: "a", in: fixture)
      let put = ["put", "--manifest", "done", "site/a", "s3://bucket/"]
      #expect(try await haul(put + ["--if-exists", "skip"]).status == 0)
      #expect(sent(fixture).count == 1)
      // The server does not have this version, so it is not left out.
      #expect(try await haul(put).status == 0)
      #expect(
        fixture.server.files(below: "/bucket/")["/bucket/a"] == Array("other a".utf8))
    }
  }

  @Test func `a manifest has what update has found to be the same`() async throws {
    try await with { (fixture, haul) async throws in
      #expect(try await haul(["put", "site/a", "s3://bucket/"]).status == 0)
      let put = ["put", "--manifest", "done", "site/a", "s3://bucket/"]
      #expect(try await haul(put + ["--if-exists", "update"]).status == 0)
      let count = fixture.server.snapshot.requests.count
      #expect(try await haul(put).status == 0)
      #expect(fixture.server.snapshot.requests.count == count && sent(fixture).count == 1)
    }
  }
}
