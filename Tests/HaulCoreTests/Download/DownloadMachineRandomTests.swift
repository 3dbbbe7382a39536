import HaulCore
import Testing

/// Random walks of the machine against a model server.
@Suite
struct DownloadMachineRandomTests {
  private static let walks: UInt64 = 600

  @Test
  func `Every walk ends; no byte is doubled, mixed or missing; connection limits hold`()
    async throws
  {
    var completed: UInt64 = 0
    var races = 0
    var codes: [String: Int] = [:]
    var failures = 0
    for seed in UInt64(1)...Self.walks {
      await Task.yield()
      var walk = try DownloadMachineRandomSequence(seed: seed)
      walk.run()
      if case .completed? = walk.end { completed += 1 }
      if walk.hasRaced { races += 1 }
      if case .failed(let error)? = walk.end { codes[error.code.rawValue, default: 0] += 1 }
      guard !walk.violations.isEmpty else { continue }
      failures += 1
      Issue.record("seed \(seed): \(walk.violations)")
      if failures == 5 { return }
    }
    #expect(completed > Self.walks / 2, "too few walks reach the end: \(codes)")
    #expect(codes["internal"] == nil)
    #expect(races > 20, "the tail is hardly ever fetched twice: \(races)")
  }
}
