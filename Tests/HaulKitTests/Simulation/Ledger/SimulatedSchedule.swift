import HaulCore
import HaulKit
import HaulTesting

/// When the simulated week is open, written a second time, so that the schedule does not check
/// itself.
struct SimulatedSchedule: Sendable {
  enum Rule: CaseIterable, Sendable {
    case always, never
    /// In every other minute of the wall clock.
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

  enum OpenState: Sendable {
    case open, closed
    /// It may not be noticed yet, or runs may not have stopped.
    case unknown
  }

  /// How late a run with a slot from within the window may begin, in a world with a slow store.
  static let grace: Duration = .milliseconds(500)
  /// The time within which a change of the clock must be noticed.
  static let notice: Duration = .seconds(61)

  var rule = Rule.always
  /// Whether the wall clock was ever set.
  private(set) var wasSet = false
  /// False if only a test knows the times.
  var isWatched = true
  /// When the manager got the present schedule.
  private(set) var knownFrom = Instant()
  private var clockKnownFrom = Instant()

  init(isWatched: Bool = true) { self.isWatched = isWatched }

  static func localSchedule(_ schedule: Schedule?) -> LocalSchedule? {
    // Schedules in tests are valid.
    schedule.flatMap { try? LocalSchedule($0) }
  }

  /// The new schedule counts from that time on.
  mutating func isKnown(from instant: Instant) { knownFrom = instant }

  mutating func clockWasSet(at now: Instant) {
    (wasSet, clockKnownFrom) = (true, now + Self.notice)
  }

  /// Another process reads the clocks as they are.
  mutating func crashed() { (knownFrom, clockKnownFrom) = (Instant(), Instant()) }

  func openState(at now: Instant, wallSeconds: Double) -> OpenState {
    guard isWatched, now >= max(knownFrom, clockKnownFrom) else { return .unknown }
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
  /// Checks that a start is inside a window.
  mutating func checkTime(_ id: TransferID, _ clock: ManualClock) {
    let (now, wallSeconds) = (clock.now, clock.wallSeconds)
    guard let schedule, now >= max(troubledUntil, schedule.knownFrom) + SimulatedSchedule.grace,
      schedule.openState(at: now, wallSeconds: wallSeconds) == .closed, let member = members[id],
      !member.isForced
    else { return }
    violate("\(member.name) begins outside of its time")
  }

  /// Checks downloads at rest; a step runs to its end.
  mutating func checkNothingRuns(at now: Instant) {
    guard now >= troubledUntil else { return }
    for id in Set(fetches.values.map(\.member)).sorted() where members[id]?.isForced == false {
      violate("\(name(id)) runs on outside of its time")
    }
  }
}
