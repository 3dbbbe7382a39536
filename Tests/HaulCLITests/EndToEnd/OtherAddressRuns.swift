import Foundation
import HaulLibC
import HaulTesting
import Testing

/// Two files with the same entity tag are never mixed.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct OtherAddressRuns {
  private static let length: Int64 = 4 << 20
  private static let (a, b): (UInt64, UInt64) = (11, 12)

  private static func image(_ path: String, _ seed: UInt64, _ faults: Fault...)
    -> FaultScript.Resource
  {
    FaultScript.Resource(path, seed: seed, length: length, faults: faults).with {
      $0.entityTag = "\"67785b80-1c9c380\""
    }
  }

  /// Runs `get` with these arguments until bytes of the first file have arrived, and ends it with
  /// the signal.
  private func interrupted(
    by signal: Int32, _ arguments: [String],
    _ body: (CommandFixture) async throws -> Void
  ) async throws {
    try await CommandFixture.with(
      Self.image("/a/disk.img", Self.a, Fault(.stall(after: 256 << 10))),
      Self.image("/b/disk.img", Self.b)
    ) { fixture in
      let arguments = arguments.map { $0.replacing("A", with: fixture.server.url("/a/disk.img")) }
      let run = try await CommandRun(["get", "--json"] + arguments, in: fixture.directory)
      try await run.reach(bytes: 256 << 10)
      run.send(signal)
      _ = await run.end()
      fixture.server.setFaults("/a/disk.img", [])
      try await body(fixture)
    }
  }

  private static let split = ["--min-split", "64K"]

  @Test(
    arguments: [SIGINT, SIGKILL],
    ["1", "8"])
  func `After SIGINT and SIGKILL, over one and eight connections`(
    signal: Int32, connections: String
  ) async throws {
    let arguments = ["-o", "z", "-x", connections] + Self.split
    try await interrupted(by: signal, arguments + ["A"]) { fixture in
      let url = fixture.server.url("/b/disk.img")
      let run = try await CommandRun(["get"] + arguments + [url], in: fixture.directory)
      let result = await run.end()
      #expect(result.status == 0, "\(result.errors)")
      // Bytes without a claim are lost when it is killed.
      #expect(
        signal == SIGKILL
          || result.errorLines.contains(
            "haul: \(url): the bytes on disk are from another address; starting over"),
        "\(result.errors)")
      try fixture.expectWhole("z", length: Self.length, seed: Self.b)
      #expect(try fixture.names() == ["z"])
    }
  }

  @Test(arguments: [SIGINT, SIGKILL])
  func `In a list with an edited line`(signal: Int32) async throws {
    let arguments = ["-x", "1", "-i", "list"]
    try await CommandFixture.with(
      Self.image("/a/disk.img", Self.a, Fault(.stall(after: 256 << 10))),
      Self.image("/b/disk.img", Self.b)
    ) { fixture in
      func write(_ path: String) throws {
        try Data("\(fixture.server.url(path))\n  out=z\n".utf8)
          .write(to: URL(filePath: fixture.path("list")))
      }
      try write("/a/disk.img")
      let run = try await CommandRun(["get", "--json"] + arguments, in: fixture.directory)
      try await run.reach(bytes: 256 << 10)
      run.send(signal)
      _ = await run.end()
      try write("/b/disk.img")
      let result = try await fixture.haul(["get"] + arguments)
      #expect(result.status == 0, "\(result.errors)")
      try fixture.expectWhole("z", length: Self.length, seed: Self.b)
    }
  }

  @Test func `--same-resource resumes from the bytes of a mirror`() async throws {
    try await interrupted(by: SIGINT, ["-o", "z", "-x", "1", "A"]) { fixture in
      fixture.server.update("/b/disk.img") { $0.seed = Self.a }
      let url = fixture.server.url("/b/disk.img")
      let result = try await fixture.haul(
        ["get", "--json", "-o", "z", "--same-resource", url])
      let end = try #require(try result.events().finished.first)
      #expect(end["reused"] == .integer(256 << 10))
      try fixture.expectWhole("z", length: Self.length, seed: Self.a)
    }
  }
}
