import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers

/// Times of the week at which nothing runs, and a wall clock that is set.
extension QueueWorld {
  /// One of so many worlds has a schedule. It has its own generator, so that other worlds do not
  /// change.
  static let timedOneIn = 4
  /// In one of so many worlds, members have start times, with a generator of its own too.
  static let startsOneIn = 4

  func changeTimes() {
    guard var random = times else { return }
    let what = random.below(5)
    let seconds = Double(random.below(180) - 90)
    let time = Duration.seconds(30 + random.below(60))
    times = random
    switch what {
    case 0..<3: setTimes(SimulatedSchedule.Rule.allCases[what])
    case 3: setClock(by: seconds)
    default: passTime(time)
    }
  }

  func setTimes(_ rule: SimulatedSchedule.Rule) {
    let text = "times \(rule)"
    let isUnderWay = ledger.withLockedValue { $0.calls.values.contains { $0.hasPrefix("times") } }
    guard !isUnderWay else { return }
    configuration.schedule = rule.schedule
    let (process, ledger, schedule) = (process, ledger, configuration.schedule)
    ledger.withLockedValue { ledger in
      ledger.schedule?.rule = rule
      // Until it has returned, the schedule is unknown.
      ledger.schedule?.isKnown(from: process.clock.now + .seconds(3600))
    }
    call(text) { manager in
      try await manager.setSchedule(schedule)
      if process.isDead { return }
      ledger.withLockedValue { $0.schedule?.isKnown(from: process.clock.now) }
    }
  }

  private func setClock(by seconds: Double) {
    process.clock.adjustWallClock(by: seconds)
    let now = process.clock.now
    ledger.withLockedValue { ledger in
      ledger.note("the clock is set by \(seconds) s")
      ledger.schedule?.clockWasSet(at: now)
    }
  }
}
