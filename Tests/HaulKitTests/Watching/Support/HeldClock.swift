import HaulCore
import NIOConcurrencyHelpers

/// A clock that stands still until the test moves it: whoever sleeps, sleeps until then, or until it is cancelled.
final class HeldClock: TransferClock {
  private struct State {
    var now = Instant()
    var sleepers: [UInt64: (until: Instant, continuation: CheckedContinuation<Void, any Error>)] =
      [:]
    var cancelled: Set<UInt64> = []
    var last: UInt64 = 0
    /// How often somebody went to sleep.
    var sleeps = 0
  }

  private let state = NIOLockedValueBox(State())

  var now: Instant { state.withLockedValue { $0.now } }
  var wallSeconds: Double { 0 }
  /// How many sleep now.
  var sleepers: Int { state.withLockedValue { $0.sleepers.count } }

  /// Until when each sleeps.
  var wakeUps: [Duration] {
    state.withLockedValue { state in
      state.sleepers.values.map { $0.until.sinceStart }.sorted()
    }
  }

  func sleep(until instant: Instant) async throws {
    let number = state.withLockedValue { state in
      state.last += 1
      return state.last
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let ready: Result<Void, any Error>? = state.withLockedValue { state in
          if state.cancelled.remove(number) != nil { return .failure(CancellationError()) }
          if state.now >= instant { return .success(()) }
          state.sleepers[number] = (instant, continuation)
          return nil
        }
        if let ready { continuation.resume(with: ready) }
      }
    } onCancel: {
      let sleeper = state.withLockedValue { state in
        let sleeper = state.sleepers.removeValue(forKey: number)
        if sleeper == nil { state.cancelled.insert(number) }
        return sleeper
      }
      sleeper?.continuation.resume(throwing: CancellationError())
    }
  }

  /// Lets that much time pass at once.
  func advance(by duration: Duration) {
    let due = state.withLockedValue { state in
      state.now = state.now + duration
      let now = state.now
      let due = state.sleepers.filter { $0.value.until <= now }
      for number in due.keys { state.sleepers[number] = nil }
      return due.values.map(\.continuation)
    }
    for continuation in due { continuation.resume() }
  }
}
