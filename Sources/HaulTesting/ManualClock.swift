public import HaulCore
import NIOConcurrencyHelpers

/// A clock that only a test moves. Waits end in the order of their instants when the clock reaches
/// them, or by cancellation.
public final class ManualClock: TransferClock {
  private typealias Waiter = CheckedContinuation<Bool, Never>

  private struct State {
    var now = Instant()
    /// By how much the wall clock was changed.
    var wallChange: Double = 0
    var sleepers: [UInt64: (until: Instant, waiter: Waiter)] = [:]
    var last: UInt64 = 0

    /// The next waiter, if its instant is not after `end`.
    mutating func takeNext(by end: Instant) -> (until: Instant, waiter: Waiter)? {
      let next = sleepers.min { ($0.value.until, $0.key) < ($1.value.until, $1.key) }
      guard let next, next.value.until <= end else { return nil }
      return sleepers.removeValue(forKey: next.key)
    }
  }

  private let state = NIOLockedValueBox(State())
  private let wallStart: Double

  /// A clock that stands still until a test moves it.
  /// - Parameter wallStart: the wall time at its start, in seconds since 1970.
  public init(wallStart: Double = 0) { self.wallStart = wallStart }

  package var now: Instant { state.withLockedValue { $0.now } }
  /// The wall time, in seconds since 1970.
  public var wallSeconds: Double {
    state.withLockedValue { wallStart + $0.wallChange + ($0.now - Instant()) / .seconds(1) }
  }

  /// Moves the wall clock forward by so many seconds, or back; no time passes.
  public func adjustWallClock(by seconds: Double) {
    state.withLockedValue { $0.wallChange += seconds }
  }

  /// The number of present waits, including Haul's own timers.
  public var sleeperCount: Int { state.withLockedValue { $0.sleepers.count } }

  /// The instants until which they wait.
  package var wakeUps: [Duration] {
    state.withLockedValue { state in state.sleepers.values.map(\.until.sinceStart).sorted() }
  }

  /// Lets so much time pass at once. Every timer that is due by then fires.
  public func advance(by time: Duration) {
    let due = state.withLockedValue { state in
      state.now = state.now + time
      var due: [Waiter] = []
      while let next = state.takeNext(by: state.now) { due.append(next.waiter) }
      return due
    }
    for waiter in due { waiter.resume(returning: true) }
  }

  /// Lets time pass until the next wait ends. Returns false if none ends by `end`; then it is
  /// `end`.
  @discardableResult
  package func wakeNext(by end: Instant) -> Bool {
    let waiter = state.withLockedValue { state in
      let next = state.takeNext(by: end)
      state.now = max(state.now, next?.until ?? end)
      return next?.waiter
    }
    waiter?.resume(returning: true)
    return waiter != nil
  }

  package func sleep(until instant: Instant) async throws {
    let number = state.withLockedValue { state in
      state.last += 1
      return state.last
    }
    let isDue = await withTaskCancellationHandler {
      await withCheckedContinuation { (waiter: Waiter) in
        let known: Bool? = state.withLockedValue { state in
          if Task.isCancelled { return false }
          if instant <= state.now { return true }
          state.sleepers[number] = (instant, waiter)
          return nil
        }
        if let known { waiter.resume(returning: known) }
      }
    } onCancel: {
      state.withLockedValue { $0.sleepers.removeValue(forKey: number) }?
        .waiter.resume(returning: false)
    }
    if !isDue { throw CancellationError() }
  }

  /// Returns when so much time has passed.
  package func wait(_ time: Duration) async throws { try await sleep(until: now + time) }
}
