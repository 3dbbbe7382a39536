import Foundation
import HaulTesting
import Testing

/// Runs of `haul get -o -`.
@Suite(.serialized, .timeLimit(.minutes(10))) struct StreamRuns {
  /// Runs `haul get -o -` with its standard output in a file.
  private func stream(
    _ fixture: CommandFixture, _ options: String...
  ) async throws -> (result: CommandResult, bytes: [UInt8]) {
    let path = fixture.path("out")
    try #require(FileManager.default.createFile(atPath: path, contents: nil))
    let handle = try #require(FileHandle(forWritingAtPath: path))
    let run = try await CommandRun(
      ["get", "-o", "-", fixture.server.url("/file.bin")] + options, in: fixture.directory,
      standardOutput: handle)
    let result = await run.end()
    try handle.close()
    return (result, try fixture.contents("out"))
  }

  @Test(arguments: ["1", "8"])
  func `The file is written out whole and in order; no file is created`(connections: String)
    async throws
  {
    try await CommandFixture.with(CommandFixture.file(length: 24 << 20)) { fixture in
      let (result, bytes) = try await stream(fixture, "-x", connections)
      #expect(result.status == 0, "\(result.errors)")
      #expect(bytes.count == 24 << 20)
      #expect(SeededContent.matches(seed: CommandFixture.seed, bytes))
      #expect(try fixture.names() == ["out"])
      #expect(result.errorLines.first?.hasPrefix("file.bin: started") == true)
      #expect(result.errorLines.last?.hasPrefix("file.bin: complete, 24.0 MiB") == true)
    }
  }

  @Test func `A wrong digest fails after the bytes are written out`() async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let digest = "sha-256=" + String(repeating: "0", count: 64)
      let (result, bytes) = try await stream(fixture, "--checksum", digest)
      #expect(result.status == 1)
      #expect(bytes.count == Int(CommandFixture.length))
      #expect(result.failures.count == 1, "\(result.errors)")
    }
  }

  @Test(arguments: ["1", "4"])
  func `If the reader closes its end, it ends with 141 and no message`(connections: String)
    async throws
  {
    try await CommandFixture.with(CommandFixture.file(length: 64 << 20)) { fixture in
      let pipe = Pipe()
      let run = try await CommandRun(
        ["get", "-q", "-o", "-", fixture.server.url("/file.bin"), "-x", connections],
        in: fixture.directory, standardOutput: pipe.fileHandleForWriting)
      try pipe.fileHandleForWriting.close()
      let first = try pipe.fileHandleForReading.read(upToCount: 1000)
      try pipe.fileHandleForReading.close()
      let result = await run.end()
      #expect(result.status == 141)
      #expect(result.errors == "")
      #expect(SeededContent.matches(seed: CommandFixture.seed, first ?? Data()))
    }
  }

  @Test(arguments: [4, 64])
  func `A signal ends it even if its output is not read`(mebibytes: Int64) async throws {
    try await CommandFixture.with(CommandFixture.file(length: mebibytes << 20)) { fixture in
      let pipe = Pipe()
      let run = try await CommandRun(
        ["get", "-o", "-", fixture.server.url("/file.bin")], in: fixture.directory,
        standardOutput: pipe.fileHandleForWriting)
      try pipe.fileHandleForWriting.close()
      _ = try pipe.fileHandleForReading.read(upToCount: 1000)
      run.send(SIGINT)
      let result = await run.end()
      #expect(result.status == 130)
      #expect(result.errors.contains("interrupted; only a part of the file was written"))
      try pipe.fileHandleForReading.close()
    }
  }
}
