import HaulCore
import NIOConcurrencyHelpers

/// One timer for all that looks at the time now and then: a task and a timer of each one's own would cost more than a small
/// file does.
final class Heartbeat: Sendable {
  typealias Beat = @Sendable (Instant) -> Void

  private struct State {
    var beats: [UInt64: Beat] = [:]
    var lastNumber: UInt64 = 0
    /// What runs, if anything does.
    var task: Task<Void, Never>?
    var isRunning = false
    var isStopped = false
  }

  private static let interval: Duration = .milliseconds(100)
  private let clock: any TransferClock
  private let executor: (any TaskExecutor)?
  private let state = NIOLockedValueBox(State())

  /// - Parameter executor: where it runs; nil for the common threads.
  init(clock: any TransferClock, executor: (any TaskExecutor)? = nil) {
    self.clock = clock
    self.executor = executor
  }

  /// Calls `beat` every 100 ms until `remove`; a last call may cross with that. It must not block.
  func add(_ beat: @escaping Beat) -> UInt64 {
    state.withLockedValue { state in
      state.lastNumber += 1
      state.beats[state.lastNumber] = beat
      if !state.isRunning, !state.isStopped {
        state.isRunning = true
        state.task = Task(executorPreference: executor) { await self.run() }
      }
      return state.lastNumber
    }
  }

  /// Calls nobody any more; returns when nothing of it runs.
  func stop() async {
    let task = state.withLockedValue { state in
      state.isStopped = true
      return state.task
    }
    task?.cancel()
    await task?.value
  }

  func remove(_ number: UInt64) {
    state.withLockedValue { $0.beats[number] = nil }
  }

  /// Ends when it finds nothing to call.
  private func run() async {
    while let beats = next() {
      let now = clock.now
      for beat in beats { beat(now) }
      do {
        try await clock.sleep(until: now + Self.interval)
      } catch {
        // It was stopped; and a clock that refuses to wait must not be asked in a circle.
        return state.withLockedValue { $0.isRunning = false }
      }
    }
  }

  private func next() -> [Beat]? {
    state.withLockedValue { state in
      guard !state.beats.isEmpty, !state.isStopped else {
        state.isRunning = false
        return nil
      }
      return state.beats.sorted { $0.key < $1.key }.map(\.value)
    }
  }
}
