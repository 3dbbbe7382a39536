import Foundation
import HaulTesting
import Testing

/// Runs of `haul get s3://bucket/prefix/`.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ObjectListingRuns {
  private static let keys = ["p/a", "p/b+c d", "p/sub/e", "p/.hidden", "p/x//y", "other"]

  private func with(
    _ body: (CommandFixture, _ run: (String...) async throws -> CommandResult) async throws -> Void
  ) async throws {
    let store = FaultScript.Resource("/bucket/", length: 0).with { $0.service = .s3 }
    try await CommandFixture.with(store) { (fixture) async throws in
      let environment = [
        "AWS_ENDPOINT_URL_S3": fixture.server.origin, "AWS_ACCESS_KEY_ID": "id",
        "AWS_SECRET_ACCESS_KEY": "canary", "XDG_STATE_HOME": fixture.path("state"),
      ]
      for key in Self.keys {
        try Data(key.utf8).write(to: URL(filePath: fixture.path("f")))
        let put = try await fixture.haul(
          ["put", "f", "s3://bucket/\(key)"], environment: environment)
        #expect(put.status == 0, "\(put.errors)")
      }
      try await body(fixture) { (arguments: String...) async throws in
        try await fixture.haul(["get"] + arguments, environment: environment)
      }
    }
  }

  @Test func `The objects below a prefix keep their names below -d; one that cannot is named`()
    async throws
  {
    try await with { fixture, get in
      let result = try await get("s3://bucket/p/", "-d", "out", "--manifest", "m.jsonl")
      #expect(result.status == 1)
      #expect(result.errors.contains("s3://bucket/p/x//y: a part of its name is empty"))
      #expect(try fixture.names("out") == ["_.hidden", "a", "b+c d", "sub"])
      for (name, key) in [
        ("_.hidden", ".hidden"), ("a", "a"), ("b+c d", "b+c d"), ("sub/e", "sub/e"),
      ] {
        #expect(try fixture.contents("out/\(name)") == Array("p/\(key)".utf8))
      }
      #expect(!(result.output + result.errors).contains("canary"))
      // Five objects are three pages.
      let lists = fixture.server.snapshot.requests.filter { $0.target.contains("list-type=2") }
      #expect(lists.count == 3)
      #expect(lists.allSatisfy { $0.header("Authorization") != nil })
      let count = fixture.server.snapshot.requests.count
      let again = try await get("s3://bucket/p/", "-d", "out", "--manifest", "m.jsonl")
      #expect(again.errors.contains("all files are complete"))
      #expect(fixture.server.snapshot.requests.count == count + 3)
    }
  }

  @Test func `To another bucket they keep their keys`() async throws {
    try await with { fixture, get in
      let result = try await get("s3://bucket/p/sub/", "s3://bucket/other", "-o", "s3://bucket/q/")
      #expect(result.status == 0, "\(result.errors)")
      let files = fixture.server.files(below: "/bucket/")
      #expect(files["/bucket/q/e"] == Array("p/sub/e".utf8))
      #expect(files["/bucket/q/other"] == Array("other".utf8))
      let hidden = try await get("s3://bucket/p/", "-o", "s3://bucket/r/")
      #expect(hidden.status == 1)
      #expect(
        fixture.server.files(below: "/bucket/").keys.filter { $0.hasPrefix("/bucket/r/") }.sorted()
          == ["/bucket/r/.hidden", "/bucket/r/a", "/bucket/r/b%2Bc%20d", "/bucket/r/sub/e"])
    }
  }

  @Test func `Nothing below a prefix, and options that contradict it, are errors`() async throws {
    try await with { fixture, get in
      let none = try await get("s3://bucket/none/", "-d", "out")
      #expect(none.status == 1 && none.errors.contains("s3://bucket/none/: there is no object"))
      #expect(try await get("s3://bucket/none/", "--worker").status == 0)
      let count = fixture.server.snapshot.requests.count
      for wrong in [
        ["s3://bucket/p/", "-o", "f"], ["s3://bucket/p/", "-i", "f"], ["s3://bucket/../"],
        ["s3://bucket/p/", "s3://bucket/p/"], ["s3:///"],
      ] {
        let arguments = ["get"] + wrong
        let result = try await fixture.haul(
          arguments, environment: ["AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "x"])
        #expect(result.status == 2, "\(wrong): \(result.errors)")
      }
      #expect(fixture.server.snapshot.requests.count == count)
      fixture.server.setFaults("/bucket/", [.always(.status(403))])
      let refused = try await get("s3://bucket/p/", "-d", "out")
      #expect(refused.status == 1)
      #expect(refused.errors.contains("s3://bucket/p/: the server answered 403"))
      #expect(try !fixture.names().contains("out"))
    }
  }
}
