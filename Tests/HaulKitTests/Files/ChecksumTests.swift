import FoundationEssentials
import HaulCore
import HaulTesting
import Testing

@Suite struct ChecksumTests {
  private static let length = 600_000
  private static let file = FaultScript.Resource("/f.bin", seed: 5, length: Int64(length))

  /// The digest of seed 5, computed by another program.
  private static let md5 = "7f7dfd472a481c8bd05a8cc8ff5259f4"

  private func checksum(seed: UInt64) throws -> Checksum {
    try #require(
      Checksum("sha-256=" + SeededContent.sha256Hex(seed: seed, length: Int64(Self.length))))
  }

  private func request(_ fixture: DownloadFixture, seed: UInt64) throws -> DownloadRequest {
    let sum = try checksum(seed: seed)
    return try fixture.request("/f.bin", as: "f.bin") { $0.checksums = [sum] }
  }

  @Test func `A file with the requested checksum is reported as verified by it`() async throws {
    try await DownloadFixture.with([Self.file]) { fixture in
      let outcome = try await fixture.finish(try request(fixture, seed: 5))
      try fixture.expectWhole("f.bin", seed: 5, length: Self.length, outcome)
      #expect(outcome.result.verified == .checksum)
    }
  }

  @Test func `A checksum mismatch publishes nothing and keeps the part file`() async throws {
    try await DownloadFixture.with([Self.file]) { fixture in
      let outcome = try await fixture.finish(try request(fixture, seed: 6))
      try fixture.expectFailure(.checksumMismatch, outcome, without: "f.bin")
      #expect(outcome.attempts == 0)
      #expect(try fixture.names() == ["f.bin.haul.journal", "f.bin.haul.part"])
      let message = try #require(outcome.result.error?.message)
      #expect(message.contains("its bytes are in \(fixture.path("f.bin.haul.part")): run it again"))
      #expect(message.contains("another checksum"))
      #expect(message.hasPrefix("the file does not match: "), "the server stated none")
      #expect(!message.contains("\n"))
    }
  }

  @Test(arguments: [true, false])
  func `All of several checksums must match`(isRight: Bool) async throws {
    try await DownloadFixture.with([Self.file]) { fixture in
      let (right, zeros) = (try checksum(seed: 5), String(repeating: "0", count: 32))
      let other = try #require(Checksum("md5=" + (isRight ? Self.md5 : zeros)))
      let request = try fixture.request("/f.bin", as: "f.bin") { $0.checksums = [right, other] }
      let outcome = try await fixture.finish(request)
      if isRight {
        try fixture.expectWhole("f.bin", seed: 5, length: Self.length, outcome)
        #expect(outcome.result.checksums == [right, other])
      } else {
        try fixture.expectFailure(.checksumMismatch, outcome, without: "f.bin")
        #expect(outcome.result.error?.message.contains("expected md5=000") == true)
      }
    }
  }

  @Test func `After a mismatch, the same checksum starts the download over`() async throws {
    try await DownloadFixture.with([Self.file]) { fixture in
      _ = try await fixture.finish(try request(fixture, seed: 6))
      fixture.server.replaceContent("/f.bin", seed: 6)
      fixture.server.resetStatistics()
      let outcome = try await fixture.finish(try request(fixture, seed: 6))
      try fixture.expectWhole("f.bin", seed: 6, length: Self.length, outcome)
      #expect(outcome.result.reused == 0)
      #expect(fixture.server.snapshot.requests("/f.bin").first?.range == "bytes=0-")
    }
  }

  @Test func `After a mismatch, another checksum is checked without network`() async throws {
    try await DownloadFixture.with([Self.file]) { fixture in
      _ = try await fixture.finish(try request(fixture, seed: 6))
      fixture.server.resetStatistics()
      let outcome = try await fixture.finish(try request(fixture, seed: 5))
      try fixture.expectWhole("f.bin", seed: 5, length: Self.length, outcome)
      #expect(outcome.result.verified == .checksum)
      #expect(outcome.result.fetched == 0)
      #expect(outcome.result.reused == Int64(Self.length))
      #expect(fixture.server.snapshot.requests.isEmpty)
    }
  }

  @Test func `A checksum mismatch keeps an existing file`() async throws {
    try await DownloadFixture.with([Self.file]) { fixture in
      try fixture.put([1, 2, 3], as: "f.bin")
      var request = try request(fixture, seed: 6)
      request.ifExists = .overwrite
      try fixture.expectFailure(.checksumMismatch, try await fixture.finish(request))
      #expect(try fixture.contents("f.bin") == [1, 2, 3])
    }
  }

  @Test func `A resumed file is verified as a whole`() async throws {
    try await DownloadFixture.with([.stalling("/f.bin", seed: 5)]) { fixture in
      let sum = try #require(
        Checksum("sha-512=" + String(repeating: "ab", count: 64)))
      let request = try fixture.request("/f.bin", as: "f.bin") { $0.checksums = [sum] }
      try await fixture.interrupt(request, path: "/f.bin")
      fixture.server.setFaults("/f.bin", [])
      let outcome = try await fixture.finish(request)
      try fixture.expectFailure(.checksumMismatch, outcome, without: "f.bin")
      #expect(outcome.result.reused > 0)
    }
  }
}
