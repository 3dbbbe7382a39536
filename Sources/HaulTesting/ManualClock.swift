public import HaulCore
import NIOConcurrencyHelpers

/// A clock that only a test moves. Who waits for a later instant is freed when it has come, in the
/// order of the instants, or by cancellation.
public final class ManualClock: TransferClock {
  private typealias Waiter = CheckedContinuation<Bool, Never>

  private struct State {
    var now = Instant()
    /// How far the clock on the wall was set since its beginning.
    var wallChange: Double = 0
    var sleepers: [UInt64: (until: Instant, waiter: Waiter)] = [:]
    var last: UInt64 = 0

    /// Whose turn is next, if it comes by then.
    mutating func takeNext(by end: Instant) -> (until: Instant, waiter: Waiter)? {
      let next = sleepers.min { ($0.value.until, $0.key) < ($1.value.until, $1.key) }
      guard let next, next.value.until <= end else { return nil }
      return sleepers.removeValue(forKey: next.key)
    }
  }

  private let state = NIOLockedValueBox(State())
  private let wallStart: Double

  /// A clock that stands still until a test moves it.
  /// - Parameter wallStart: seconds since 1970 at its beginning.
  public init(wallStart: Double = 0) { self.wallStart = wallStart }

  package var now: Instant { state.withLockedValue { $0.now } }
  /// What the clock on the wall shows, in seconds since 1970.
  public var wallSeconds: Double {
    state.withLockedValue { wallStart + $0.wallChange + ($0.now - Instant()) / .seconds(1) }
  }

  /// Sets the clock on the wall forward by so many seconds, or back; no time passes.
  public func setWall(by seconds: Double) { state.withLockedValue { $0.wallChange += seconds } }

  /// How many wait at this moment, Haul's own timers included.
  public var sleeping: Int { state.withLockedValue { $0.sleepers.count } }

  /// Until when each of them waits.
  package var wakeUps: [Duration] {
    state.withLockedValue { state in state.sleepers.values.map(\.until.sinceStart).sorted() }
  }

  /// Lets that much time pass at once. Every timer that is due by then fires.
  public func move(by time: Duration) {
    let due = state.withLockedValue { state in
      state.now = state.now + time
      var due: [Waiter] = []
      while let next = state.takeNext(by: state.now) { due.append(next.waiter) }
      return due
    }
    for waiter in due { waiter.resume(returning: true) }
  }

  /// Lets time pass until the next one is due, and frees it; false, and it is `end`, when none is
  /// due by then.
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
