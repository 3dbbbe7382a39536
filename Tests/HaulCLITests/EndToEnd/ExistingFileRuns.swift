import Foundation
import HaulCore
import HaulTesting
import Testing

/// --if-exists.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ExistingFileRuns {
  private static let old: [UInt8] = [1, 2, 3]

  private func plant(_ fixture: CommandFixture) throws {
    try Data(Self.old).write(to: URL(filePath: fixture.path("file.bin")))
  }

  @Test
  func `update: a file with the same length and time is accepted; nothing is downloaded`()
    async throws
  {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      for options in [[], ["-o", "named.bin"]] {
        let command = ["get", "--json", fixture.server.url("/file.bin")] + options
        #expect(try await fixture.haul(command).status == 0)
        let again = try await fixture.haul(command)
        #expect(again.status == 0)
        let end = try #require(try again.events().finished.first)
        #expect(end["state"]?.string == "completed")
        #expect(end["fetched"] == .integer(0))
        #expect(end["path"]?.string == (options.last ?? "file.bin"))
      }
      #expect(try fixture.names() == ["file.bin", "named.bin"])
    }
  }

  @Test
  func `update: another file with that name is kept; with -o the run fails before the body`()
    async throws
  {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      try plant(fixture)
      let named = try await fixture.get("/file.bin", "-o", "file.bin")
      try named.expectFailed(.nameConflict)
      #expect(try named.events().finished.first?["fetched"] == .integer(0))
      #expect(try fixture.names() == ["file.bin"])
      let derived = try await fixture.get()
      #expect(derived.status == 0)
      #expect(try derived.events().finished.first?["path"]?.string == "file (1).bin")
      #expect(derived.errors.contains("file (1).bin: complete"))
      try fixture.expectWhole("file (1).bin")
      #expect(try fixture.contents("file.bin") == Self.old)
    }
  }

  @Test
  func `update: the file of another token is kept; the message names the option that replaces it`()
    async throws
  {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      func get(_ token: String, _ options: [String] = []) async throws -> CommandResult {
        let url = fixture.server.url("/file.bin?token=\(token)")
        return try await fixture.haul(["get", url, "-o", "file.bin"] + options)
      }
      #expect(try await get("a").status == 0)
      for options in [[], ["--same-resource"]] {
        let second = try await get("b", options)
        let advice = "with another token in the address it counts as another file"
        #expect(second.status == 1 && second.errors.contains(advice), "\(second.errors)")
        #expect(second.errors.contains("replace it (--if-exists overwrite)"), "\(second.errors)")
      }
      #expect(try await get("b", ["--if-exists", "overwrite"]).status == 0)
      #expect(try await get("b").errors.contains("already there"))
    }
  }

  @Test
  func `update: a file that changes every night is replaced; there is one file, the newest`()
    async throws
  {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      for seed in UInt64(1)...4 {
        fixture.server.update("/file.bin") {
          $0.seed = seed
          $0.entityTag = FaultScript.Resource.strongTag(seed: seed)
          $0.lastModified = FaultScript.Resource.oldDate + Int64(seed)
        }
        for _ in 1...2 { #expect(try await fixture.get().status == 0) }
        #expect(try fixture.names() == ["file.bin"])
        try fixture.expectWhole(seed: seed)
      }
    }
  }

  @Test func `update: two files with the same name, in turn, keep their names`() async throws {
    try await CommandFixture.with(
      CommandFixture.file("/p/z.bin"),
      CommandFixture.file("/q/z.bin").with {
        $0.seed = 9
        $0.entityTag = FaultScript.Resource.strongTag(seed: CommandFixture.seed)
      }
    ) { fixture in
      for _ in 1...3 {
        let first = try await fixture.get("/p/z.bin")
        let second = try await fixture.get("/q/z.bin")
        #expect(try first.events().finished.first?["path"]?.string == "z.bin")
        #expect(try second.events().finished.first?["path"]?.string == "z (1).bin")
        #expect(try fixture.names() == ["z (1).bin", "z.bin"])
      }
      try fixture.expectWhole("z.bin")
      try fixture.expectWhole("z (1).bin", seed: 9)
    }
  }

  @Test
  func `skip accepts the file, fail fails, rename adds a number, overwrite replaces`() async throws
  {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      try plant(fixture)
      let skip = try await fixture.get("/file.bin", "--if-exists", "skip", "-o", "file.bin")
      #expect(skip.status == 0)
      #expect(try skip.events().finished.first?["fetched"] == .integer(0))
      try await fixture.get("/file.bin", "--if-exists", "fail").expectFailed(.nameConflict)
      let rename = try await fixture.get("/file.bin", "--if-exists", "rename", "-o", "file.bin")
      #expect(rename.status == 0)
      #expect(try rename.events().finished.first?["path"]?.string == "file (1).bin")
      #expect(try fixture.contents("file.bin") == Self.old)
      let overwrite = try await fixture.get("/file.bin", "--if-exists", "overwrite")
      #expect(overwrite.status == 0)
      try fixture.expectWhole()
      #expect(try fixture.names() == ["file (1).bin", "file.bin"])
    }
  }

  @Test
  func `With --checksum, a file with that digest is accepted without a request`() async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      _ = try await fixture.get("/file.bin", "-o", "x")
      let asked = fixture.server.snapshot.requests.count
      let hex = SeededContent.sha256Hex(seed: CommandFixture.seed, length: CommandFixture.length)
      let again = try await fixture.get("/file.bin", "-o", "x", "--checksum", "sha-256=\(hex)")
      #expect(again.status == 0)
      #expect(try again.events().finished.first?["verified"]?.string == "checksum")
      #expect(fixture.server.snapshot.requests.count == asked)
    }
  }

  @Test func `--start-over discards the bytes of an earlier run`() async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      _ = try await fixture.interrupt()
      let result = try await fixture.get("/file.bin", "--start-over")
      #expect(result.status == 0)
      #expect(try result.events().finished.first?["reused"] == .integer(0))
      try fixture.expectWhole()
    }
  }
}
