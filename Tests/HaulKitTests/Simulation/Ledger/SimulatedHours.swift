import HaulCore
import HaulKit
import HaulTesting

/// When the simulated week is open: written down a second time, so that the schedule is not its own
/// judge.
struct SimulatedHours: Sendable {
  enum Rule: CaseIterable, Sendable {
    case always, never
    /// In every other minute of the clock on the wall.
    case evenMinutes

    var schedule: Schedule? {
      switch self {
      case .always: nil
      case .never: Schedule([])
      case .evenMinutes:
        Schedule(
          stride(from: 0, to: 1440, by: 2).map { .init(.everyDay, from: $0, to: $0 + 1) },
          timeZone: "UTC")
      }
    }
  }

  enum Gate: Sendable {
    case open, closed
    /// It may not be noticed yet, or what ran may not have stopped.
    case unknown
  }

  /// How late something may begin that had its slot in time, in a world where the store is slow.
  static let grace: Duration = .milliseconds(500)
  /// Until when a clock that was set must be noticed.
  static let notice: Duration = .seconds(61)

  var rule = Rule.always
  /// Whether the clock on the wall was ever set.
  private(set) var wasSet = false
  /// False where only a test knows the times.
  var isWatched = true
  /// When the manager was told what holds.
  private(set) var toldAt = Instant()
  private var clockKnownFrom = Instant()

  init(isWatched: Bool = true) { self.isWatched = isWatched }

  static func hours(_ schedule: Schedule?) -> LocalSchedule? {
    // Tests have sound ones.
    schedule.flatMap { try? LocalSchedule($0) }
  }

  /// What was told is heeded from that time on.
  mutating func isKnown(from instant: Instant) { toldAt = instant }

  mutating func clockWasSet(at now: Instant) {
    (wasSet, clockKnownFrom) = (true, now + Self.notice)
  }

  /// Another process reads the clocks as they are.
  mutating func crashed() { (toldAt, clockKnownFrom) = (Instant(), Instant()) }

  func gate(at now: Instant, wallSeconds: Double) -> Gate {
    guard isWatched, now >= max(toldAt, clockKnownFrom) else { return .unknown }
    switch rule {
    case .always: return .open
    case .never: return .closed
    case .evenMinutes:
      let second = Int(wallSeconds.rounded(.down)) % 120
      switch second {
      case 1..<60: return .open
      case 61..<120: return .closed
      default: return .unknown
      }
    }
  }
}

extension Ledger {
  /// What begins, begins in its time.
  mutating func checkTime(_ id: TransferID, _ clock: ManualClock) {
    let (now, wallSeconds) = (clock.now, clock.wallSeconds)
    guard let hours, now >= max(troubledUntil, hours.toldAt) + SimulatedHours.grace,
      hours.gate(at: now, wallSeconds: wallSeconds) == .closed, let member = members[id],
      !member.isForced
    else { return }
    violate("\(member.name) begins outside of its time")
  }

  /// Of downloads, at rest: a step runs to its end.
  mutating func checkNothingRuns(at now: Instant) {
    guard now >= troubledUntil else { return }
    for id in Set(fetches.values.map(\.member)).sorted() where members[id]?.isForced == false {
      violate("\(name(id)) runs on outside of its time")
    }
  }
}
