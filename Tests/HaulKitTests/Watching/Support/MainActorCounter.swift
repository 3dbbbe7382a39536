import Dispatch
import NIOConcurrencyHelpers

/// Checks whether code runs on the main actor.
enum MainThread {
  private static let key = DispatchSpecificKey<Bool>()

  /// Marks the main actor's queue for `isHere`, whichever thread serves it.
  @MainActor static func begin() { DispatchQueue.main.setSpecific(key: key, value: true) }

  static var isHere: Bool { DispatchQueue.getSpecific(key: key) ?? false }
}

/// Records the names of calls on the main actor, and counts calls elsewhere.
final class MainActorRecord: Sendable {
  private let state = NIOLockedValueBox((onMain: Set<String>(), elsewhere: 0))

  var onMain: Set<String> { state.withLockedValue { $0.onMain } }
  var elsewhere: Int { state.withLockedValue { $0.elsewhere } }

  func note(_ what: String) {
    let isHere = MainThread.isHere
    state.withLockedValue { state in
      if isHere { state.onMain.insert(what) } else { state.elsewhere += 1 }
    }
  }
}

/// Other work of the main actor, which only counts its turns and is always ready. A reader that
/// never suspends leaves it no turn.
@MainActor final class MainActorCounter {
  private var count = 0
  /// The number of elements that the reader got, and the most between two turns.
  private(set) var (noted, most) = (0, 0)
  private var last = (turn: 0, count: 0)
  private var isOver = false

  /// Counts turns while `body` runs.
  func count<Value>(during body: @MainActor () async throws -> Value) async rethrows -> Value {
    takeTurn()
    defer { isOver = true }
    return try await body()
  }

  private func takeTurn() {
    count += 1
    guard !isOver else { return }
    // Through the queue itself: a task that yields would leave it, for as long as the machine is
    // busy.
    DispatchQueue.main.async { MainActor.assumeIsolated { self.takeTurn() } }
  }

  /// The reader got an element.
  func note() {
    last = last.turn == count ? (count, last.count + 1) : (count, 1)
    (noted, most) = (noted + 1, max(most, last.count))
  }
}
