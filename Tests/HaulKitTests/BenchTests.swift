import HaulCore
import HaulTesting
import Testing

@Suite struct DownloadTests {
  @Test func `A file downloads completely over several connections`() async throws {
    try await DownloadFixture.with([.init("/file.bin", seed: 3, length: 4 << 20)]) { bench in
      let outcome = try await bench.finish(try bench.request("/file.bin"))
      #expect(outcome.result.state == .completed)
      #expect(outcome.result.verified == .length)
      #expect(try bench.isWhole("file.bin", seed: 3, length: 4 << 20))
      #expect(try bench.names() == ["file.bin"])
    }
  }

  @Test func `A repeated download checks the existing file with at most one byte`() async throws {
    try await DownloadFixture.with([.init("/file.bin", seed: 3, length: 1 << 20)]) { bench in
      _ = try await bench.finish(try bench.request("/file.bin"))
      bench.server.resetStatistics()
      let again = try await bench.finish(try bench.request("/file.bin", as: "file.bin"))
      #expect(again.result.state == .completed)
      #expect(again.result.reused == 1 << 20)
      #expect(bench.server.snapshot.bytesSent("/file.bin") <= 1)
    }
  }
}
