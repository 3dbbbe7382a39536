import HaulFiles
import HaulTesting
import Testing

@Suite("Many small files that get their names together, over the simulated disk")
struct GroupScheduleTests {
  @Test("What was told complete is there after a power cut, whole, in whichever group it was")
  func invariantsHold() async {
    let base = ScheduleTests.firstSeed ?? 70_000
    print("group schedules: \(ScheduleTests.count) from seed \(base)")
    for seed in base..<(base + ScheduleTests.count) {
      await Task.yield()
      let violations = GroupSchedule.violations(seed: seed)
      if violations.isEmpty { continue }
      Issue.record("HAUL_SEED=\(seed): \(violations)")
      return
    }
  }

  @Test("To tell it before the syncs of the group is caught")
  func earlyTellingIsCaught() async {
    for seed in UInt64(1)...3_000 {
      await Task.yield()
      if !GroupSchedule.violations(seed: seed, telling: .beforeTheSyncs).isEmpty { return }
    }
    Issue.record("no schedule noticed")
  }

  @Test(
    "A sync that is missing or late is caught",
    arguments: [BrokenDisk.Defect.syncAfterRename, .noSync, .noDirectorySync])
  func brokenSyncsAreCaught(defect: BrokenDisk.Defect) async {
    for seed in UInt64(1)...3_000 {
      await Task.yield()
      let violations = GroupSchedule.violations(seed: seed) { BrokenDisk($0, defect: defect) }
      if !violations.isEmpty { return }
    }
    Issue.record("no schedule noticed: \(defect)")
  }
}
