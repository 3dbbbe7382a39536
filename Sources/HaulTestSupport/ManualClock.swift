package import HaulCore
import NIOConcurrencyHelpers

/// A clock that only a test moves. Who waits for a later instant is freed when it has come, or by cancellation.
package final class ManualClock: TransferClock {
  private struct State {
    var now = Instant()
    var sleepers: [UInt64: (until: Instant, waiter: CheckedContinuation<Void, Never>)] = [:]
    var last: UInt64 = 0
  }

  private let state = NIOLockedValueBox(State())

  package init() {}

  package var now: Instant { state.withLockedValue { $0.now } }
  package var wallSeconds: Double { (now - Instant()) / .seconds(1) }

  /// How many wait at this moment.
  package var sleeping: Int { state.withLockedValue { $0.sleepers.count } }

  package func move(by time: Duration) {
    let due = state.withLockedValue { state in
      state.now = state.now + time
      let due = state.sleepers.filter { $0.value.until <= state.now }
      for number in due.keys { state.sleepers[number] = nil }
      return due.values.sorted { $0.until < $1.until }
    }
    for sleeper in due { sleeper.waiter.resume() }
  }

  package func sleep(until instant: Instant) async throws {
    let number = state.withLockedValue { state in
      state.last += 1
      return state.last
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { waiter in
        let isDue = state.withLockedValue { state in
          guard instant > state.now, !Task.isCancelled else { return true }
          state.sleepers[number] = (instant, waiter)
          return false
        }
        if isDue { waiter.resume() }
      }
    } onCancel: {
      state.withLockedValue { $0.sleepers.removeValue(forKey: number) }?.waiter.resume()
    }
    try Task.checkCancellation()
  }
}
