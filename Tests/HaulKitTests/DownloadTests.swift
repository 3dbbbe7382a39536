import HaulCore
import HaulTesting
import Testing

@Suite struct DownloadTests {
  @Test func `A file downloads completely over several connections`() async throws {
    try await DownloadFixture.with([.init("/file.bin", seed: 3, length: 4 << 20)]) { fixture in
      let outcome = try await fixture.finish(try fixture.request("/file.bin"))
      #expect(outcome.result.state == .completed)
      #expect(outcome.result.verified == .length)
      #expect(try fixture.isWhole("file.bin", seed: 3, length: 4 << 20))
      #expect(try fixture.names() == ["file.bin"])
    }
  }

  @Test func `A repeated download checks the existing file with at most one byte`() async throws {
    try await DownloadFixture.with([.init("/file.bin", seed: 3, length: 1 << 20)]) { fixture in
      _ = try await fixture.finish(try fixture.request("/file.bin"))
      fixture.server.resetStatistics()
      let again = try await fixture.finish(try fixture.request("/file.bin", as: "file.bin"))
      #expect(again.result.state == .completed)
      #expect(again.result.reused == 1 << 20)
      #expect(fixture.server.snapshot.bytesSent("/file.bin") <= 1)
    }
  }
}
