import FoundationEssentials
import HaulCore
import HaulTesting
import Testing

@Suite("Random schedules of writes, syncs, crashes and recoveries over the simulated disk")
struct ScheduleTests {
  /// How many, by `HAUL_SCHEDULES`; from which seed, by `HAUL_SEED` (then one, unless told).
  static let environment = ProcessInfo.processInfo.environment
  static let firstSeed = environment["HAUL_SEED"].flatMap { UInt64($0) }
  static let count =
    environment["HAUL_SCHEDULES"].flatMap { UInt64($0) } ?? (firstSeed == nil ? 300 : 1)

  @Test("Every byte that is counted is right; what was promised stays", arguments: [true, false])
  func invariantsHold(strict: Bool) async {
    let base = Self.firstSeed ?? 20_000
    print("schedules: \(Self.count) \(strict ? "strict" : "relaxed") from seed \(base)")
    var failures = 0
    for seed in base..<(base + Self.count) {
      // Others run meanwhile: this occupies a thread for long.
      await Task.yield()
      let violations = Schedule.violations(seed: seed, strict: strict)
      if violations.isEmpty { continue }
      failures += 1
      Issue.record("HAUL_SEED=\(seed) \(strict ? "strict" : "relaxed"): \(violations)")
      if failures == 5 { return }
    }
  }

  @Test("The same seed gives the same run")
  func isRepeatable() {
    for seed in UInt64(1)...20 {
      var first = Schedule(seed: seed, strict: true)
      var second = Schedule(seed: seed, strict: true)
      first.run()
      second.run()
      #expect(first.machine.names(in: Schedule.path) == second.machine.names(in: Schedule.path))
      #expect(first.random.next() == second.random.next(), "seed \(seed)")
    }
  }

  // A million schedules told three times that the file of another was gone: the disk itself had
  // let an older removal of its name come after it.
  @Test("What another program has put there outlives changes of its name that came before")
  func plantedStays() throws {
    for seed in UInt64(1)...20 {
      let machine = SimulatedMachine(seed: seed)
      let directory = try machine.startProcess().openDirectory("/d", creating: true)
      for _ in 0..<3 {
        try directory.create("f").close()
        try directory.unlink("f")
      }
      machine.plant([1, 2, 3], as: "f", in: "/d")
      machine.losePower()
      #expect(machine.contents(of: "f", in: "/d") == [1, 2, 3], "seed \(seed)")
      #expect(!machine.hasLostPlanted(in: "/d"), "seed \(seed)")
      try machine.startProcess().openDirectory("/d", creating: false).unlink("f")
      #expect(machine.hasLostPlanted(in: "/d"), "seed \(seed)")
    }
  }

  @Test("Broken variants are caught", arguments: BrokenDisk.Defect.allCases)
  func controlsAreCaught(defect: BrokenDisk.Defect) async {
    for seed in UInt64(1)...3_000 {
      await Task.yield()
      let violations = Schedule.violations(seed: seed, strict: true) {
        BrokenDisk($0, defect: defect)
      }
      if !violations.isEmpty { return }
    }
    Issue.record("no schedule noticed: \(defect)")
  }
}
