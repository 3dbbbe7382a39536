import FoundationEssentials
import HaulCore
import HaulKit
import HaulTesting
import Testing

/// The production manager, drivers and machines in worlds where a seed decides everything.
@Suite struct QueueSimulationTests {
  /// `HAUL_WORLDS` is their number, `HAUL_SEED` the first seed (then one by default, with a trace
  /// of everything that happened).
  static let environment = ProcessInfo.processInfo.environment
  static let firstSeed = environment["HAUL_SEED"].flatMap { UInt64($0) }
  static let count =
    environment["HAUL_WORLDS"].flatMap { UInt64($0) } ?? (firstSeed == nil ? 300 : 1)

  @Test func `Random commands, faults, crashes and restarts: all invariants hold`() async throws {
    let base = Self.firstSeed ?? 1
    print("worlds: \(Self.count) from seed \(base)")
    var failures = 0
    for seed in base..<(base + Self.count) {
      // Lets other tests run: this one occupies a thread for long.
      await Task.yield()
      let (trace, violations) = try QueueWorld(seed: seed).run()
      if Self.count == 1 { print(trace.joined(separator: "\n")) }
      if violations.isEmpty { continue }
      failures += 1
      Issue.record("HAUL_SEED=\(seed): \(violations)")
      if failures == 5 { return }
    }
  }

  @Test func `The same seed gives the same run, event by event`() async throws {
    for seed in UInt64(1)...20 {
      await Task.yield()
      let (first, _) = try QueueWorld(seed: seed).run()
      let (second, _) = try QueueWorld(seed: seed).run()
      let difference = zip(first, second).first { $0 != $1 }
      #expect(first == second, "seed \(seed): \(String(describing: difference))")
    }
  }
}
