import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Digests that the server announces.
@Suite
struct AnnouncedDigestCases {
  private func digest(_ field: Fault.DigestField, wrong: Bool) -> FaultScript.Resource {
    .init(
      "/f.bin", seed: 35, length: 1 << 20, faults: [Fault(.digest(field: field, wrong: wrong))])
  }

  @Test func `Case 35: a right Repr-Digest verifies the file`() async throws {
    try await DownloadFixture.with([digest(.repr, wrong: false)]) { fixture in
      let result = try await fixture.finish(try fixture.request("/f.bin")).result
      #expect(result.state == .completed)
      #expect(result.verified == .checksum)
      #expect(result.checksums.first?.bytes == SeededContent.sha256(seed: 35, length: 1 << 20))
    }
  }

  @Test func `Case 35: a wrong Repr-Digest fails the file, now and in the next run`() async throws {
    try await DownloadFixture.with([digest(.repr, wrong: true)]) { fixture in
      for _ in 0..<2 {
        let result = try await fixture.finish(try fixture.request("/f.bin")).result
        #expect(result.error?.code == .checksumMismatch && result.error?.remedy == .checksum)
        let fact = "the server stated a digest, and the file does not match: expected sha-256="
        #expect(result.error?.fact.hasPrefix(fact) == true)
        #expect(try fixture.names() == ["f.bin.haul.journal", "f.bin.haul.part"])
      }
    }
  }
}
