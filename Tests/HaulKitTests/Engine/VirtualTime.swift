import HaulCore
import NIOConcurrencyHelpers

/// Runs tasks one after the other on the thread that calls `run(until:)`, and lets time pass when all of them wait.
final class VirtualTime: TaskExecutor, TransferClock {
  private struct State {
    var now = Instant()
    var jobs: [UnownedJob] = []
    var sleepers: [UInt64: (until: Instant, continuation: CheckedContinuation<Void, any Error>)] =
      [:]
    var cancelled: Set<UInt64> = []
    var lastSleeper: UInt64 = 0
  }

  private let state = NIOLockedValueBox(State())

  var now: Instant { state.withLockedValue { $0.now } }
  var wallSeconds: Double { 0 }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    state.withLockedValue { $0.jobs.append(job) }
  }

  func sleep(until instant: Instant) async throws {
    let number = state.withLockedValue { state in
      state.lastSleeper += 1
      return state.lastSleeper
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isCancelled = state.withLockedValue { state in
          if state.cancelled.remove(number) != nil { return true }
          state.sleepers[number] = (instant, continuation)
          return false
        }
        if isCancelled { continuation.resume(throwing: CancellationError()) }
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

  /// Runs until that instant, or until nobody sleeps any more.
  func run(until end: Instant) {
    repeat { settle() } while wakeNext(by: end)
  }

  /// Runs what can run without time passing.
  func settle() {
    while let job = state.withLockedValue({ $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }) {
      job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }

  private func wakeNext(by end: Instant) -> Bool {
    let next = state.withLockedValue { state -> CheckedContinuation<Void, any Error>? in
      let first = state.sleepers.min { ($0.value.until, $0.key) < ($1.value.until, $1.key) }
      guard let first, first.value.until <= end else { return nil }
      state.now = max(state.now, first.value.until)
      state.sleepers[first.key] = nil
      return first.value.continuation
    }
    next?.resume()
    return next != nil
  }
}
