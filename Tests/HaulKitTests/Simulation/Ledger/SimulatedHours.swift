import HaulCore
import HaulKit
import HaulTestSupport

/// When the simulated week is open: written down a second time, so that the timetable is not its own judge.
struct SimulatedHours: Sendable {
  enum Rule: CaseIterable, Sendable {
    case always, never
    /// In every other minute of the clock on the wall.
    case evenMinutes

    var timetable: Timetable? {
      switch self {
      case .always: nil
      case .never: Timetable([])
      case .evenMinutes:
        Timetable(
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

  /// How long what runs may take to stop, in a world where the store is slow.
  static let grace: Duration = .seconds(3)
  /// Until when a clock that was set must be noticed.
  static let notice: Duration = .seconds(60) + grace

  var rule = Rule.always
  /// Whether the clock on the wall was ever set.
  private(set) var wasSet = false
  /// False where only a test knows the times.
  var isWatched = true
  private var knownFrom = Instant()
  private var clockKnownFrom = Instant()

  init(isWatched: Bool = true) { self.isWatched = isWatched }

  static func hours(_ timetable: Timetable?) -> OpenHours? {
    // Tests have sound ones.
    timetable.flatMap { try? OpenHours($0) }
  }

  /// What was told is heeded from that time on.
  mutating func isKnown(from instant: Instant) { knownFrom = instant }

  mutating func clockWasSet(at now: Instant) {
    (wasSet, clockKnownFrom) = (true, now + Self.notice)
  }

  /// Another process reads the clocks as they are.
  mutating func crashed() { (knownFrom, clockKnownFrom) = (Instant(), Instant()) }

  func gate(at now: Instant, wallSeconds: Double) -> Gate {
    guard isWatched, now >= max(knownFrom, clockKnownFrom) else { return .unknown }
    switch rule {
    case .always: return .open
    case .never: return .closed
    case .evenMinutes:
      let second = Int(wallSeconds.rounded(.down)) % 120
      switch second {
      case 1..<60: return .open
      case 63..<120: return .closed
      default: return .unknown
      }
    }
  }
}

extension Ledger {
  /// What begins, begins in its time.
  mutating func checkTime(_ id: TransferID, _ clock: ManualClock) {
    guard let gate = hours?.gate(at: clock.now, wallSeconds: clock.wallSeconds), gate == .closed,
      clock.now >= troubledUntil + SimulatedHours.grace, let member = members[id], !member.isForced
    else { return }
    violate("\(member.name) begins outside of its time")
  }

  /// Of downloads: a step runs to its end.
  mutating func checkNothingRuns(at now: Instant) {
    guard now >= troubledUntil + SimulatedHours.grace else { return }
    for id in Set(fetches.values.map(\.member)).sorted() where members[id]?.isForced == false {
      violate("\(name(id)) runs on outside of its time")
    }
  }
}
