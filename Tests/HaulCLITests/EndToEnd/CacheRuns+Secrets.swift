import Foundation
import HaulCore
import HaulTesting
import Testing

/// What the cache keeps from others.
extension CacheRuns {
  @Test
  func `Other credentials are another copy, and no secret reaches the directory or the list`()
    async throws
  {
    try await CommandFixture.with(Self.file("max-age=3600")) { fixture in
      let url = fixture.server.url("/file.bin?token=s3cret-query")
      for (name, token) in [("a", "s3cret-a"), ("b", "s3cret-b"), ("c", "s3cret-a")] {
        let result = try await fixture.haul(
          ["get", "--cache", "-H", "Authorization: Bearer \(token)", url, "-o", name])
        #expect(result.status == 0, "\(result.errors)")
      }
      let sent = fixture.server.snapshot.requests.map { $0.header("Authorization") }
      #expect(sent == ["Bearer s3cret-a", "Bearer s3cret-b"])
      let list = try await fixture.haul(["cache", "list"])
      #expect(list.output.contains("/file.bin?token=***"))
      let json = try await fixture.haul(["cache", "list", "--json"])
      #expect(!(list.output + json.output).contains("s3cret"))
      let directory = fixture.path(".cache/haul")
      let names = try FileManager.default.subpathsOfDirectory(atPath: directory)
      #expect(names.count { $0.hasSuffix(".blob") } == 2)
      for name in names {
        #expect(!name.contains("s3cret"))
        let data = FileManager.default.contents(atPath: "\(directory)/\(name)") ?? Data()
        #expect(data.firstRange(of: Data("s3cret".utf8)) == nil, "\(name)")
      }
    }
  }

  @Test
  func `A directory that others may use is refused before anything is requested`() async throws {
    try await CommandFixture.with(Self.file("max-age=3600")) { fixture in
      try FileManager.default.createDirectory(
        atPath: fixture.path("c/haul"), withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o755])
      let environment = ["XDG_CACHE_HOME": fixture.path("c")]
      for arguments in [
        ["get", "--cache", fixture.server.url("/file.bin")], ["cache", "list"], ["cache", "purge"],
      ] {
        let result = try await fixture.haul(arguments, environment: environment)
        #expect(result.status == (arguments[0] == "get" ? 2 : 1))
        #expect(result.errors.contains("run: chmod 700 "), "\(result.errors)")
      }
      #expect(fixture.server.snapshot.requests.isEmpty)
    }
  }
}
