import HaulFiles
import HaulTesting
import Testing

/// Many small files published together, over the simulated disk.
@Suite
struct GroupCrashTests {
  @Test func `A file that was reported complete is whole after a power cut, in any group`() async {
    let base = CrashScenarioTests.firstSeed ?? 70_000
    print("group schedules: \(CrashScenarioTests.count) from seed \(base)")
    for seed in base..<(base + CrashScenarioTests.count) {
      await Task.yield()
      let violations = GroupCrashScenario.violations(seed: seed)
      if violations.isEmpty { continue }
      Issue.record("HAUL_SEED=\(seed): \(violations)")
      return
    }
  }

  @Test func `A report before the syncs of the group is detected`() async {
    for seed in UInt64(1)...3_000 {
      await Task.yield()
      if !GroupCrashScenario.violations(seed: seed, reportTime: .beforeTheSyncs).isEmpty { return }
    }
    Issue.record("no schedule noticed")
  }

  @Test(arguments: [BrokenDisk.Defect.syncAfterRename, .noSync, .noDirectorySync])
  func `A missing or late sync is detected`(defect: BrokenDisk.Defect) async {
    for seed in UInt64(1)...3_000 {
      await Task.yield()
      let violations = GroupCrashScenario.violations(seed: seed) { BrokenDisk($0, defect: defect) }
      if !violations.isEmpty { return }
    }
    Issue.record("no schedule noticed: \(defect)")
  }
}
