import HaulCore
import HaulTestSupport
import Testing

@Suite struct DownloadTests {
  @Test func `a file arrives whole over several connections`() async throws {
    try await Bench.with([.init("/file.bin", seed: 3, length: 4 << 20)]) { bench in
      let outcome = try await bench.finish(try bench.request("/file.bin"))
      #expect(outcome.result.state == .completed)
      #expect(outcome.result.verified == .length)
      #expect(try bench.isWhole("file.bin", seed: 3, length: 4 << 20))
      #expect(try bench.names() == ["file.bin"])
    }
  }
}
