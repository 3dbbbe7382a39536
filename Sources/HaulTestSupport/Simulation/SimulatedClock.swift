package import HaulCore
import NIOConcurrencyHelpers

/// The clock of one simulated process: time passes when it is told to, from one sleeper to the next.
package final class SimulatedClock: TransferClock {
  private struct Sleeper {
    let until: Instant
    let waiter: CheckedContinuation<Bool, Never>
  }

  private struct State {
    var now = Instant()
    var sleepers: [UInt64: Sleeper] = [:]
    var last: UInt64 = 0

    /// Whose turn is next, with its number.
    var next: (number: UInt64, until: Instant)? {
      sleepers.min { ($0.value.until, $0.key) < ($1.value.until, $1.key) }
        .map { ($0.key, $0.value.until) }
    }
  }

  private let state = NIOLockedValueBox(State())
  private let wallStart: Double

  /// - Parameter wallStart: seconds since 1970 at its beginning.
  package init(wallStart: Double) { self.wallStart = wallStart }

  package var now: Instant { state.withLockedValue { $0.now } }
  package var wallSeconds: Double { wallStart + (now - Instant()) / .seconds(1) }

  /// How many wait at this moment.
  package var sleeping: Int { state.withLockedValue { $0.sleepers.count } }

  /// Lets time pass until the next sleeper is due, and wakes it; false, and it is `end`, when none is due by then.
  @discardableResult
  package func wakeNext(by end: Instant) -> Bool {
    let waiter: CheckedContinuation<Bool, Never>? = state.withLockedValue { state in
      guard let next = state.next, next.until <= end else {
        state.now = max(state.now, end)
        return nil
      }
      state.now = max(state.now, next.until)
      return state.sleepers.removeValue(forKey: next.number)?.waiter
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
      await withCheckedContinuation { (waiter: CheckedContinuation<Bool, Never>) in
        let known: Bool? = state.withLockedValue { state in
          if Task.isCancelled { return false }
          if instant <= state.now { return true }
          state.sleepers[number] = Sleeper(until: instant, waiter: waiter)
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
}
