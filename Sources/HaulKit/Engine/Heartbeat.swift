import HaulCore
import NIOConcurrencyHelpers

/// One timer for all periodic checks: a task and a timer for each would cost more than a small
/// download.
final class Heartbeat: Sendable {
  private struct State {
    /// In order of registration.
    var receivers: [any HeartbeatReceiver] = []
    /// The running task, if any.
    var task: Task<Void, Never>?
    var isRunning = false
    var isStopped = false
  }

  private static let interval: Duration = .milliseconds(100)
  private let clock: any TransferClock
  private let executor: (any TaskExecutor)?
  private let state = NIOLockedValueBox(State())

  /// - Parameter executor: where it runs; nil for the global executor.
  init(clock: any TransferClock, executor: (any TaskExecutor)? = nil) {
    self.clock = clock
    self.executor = executor
  }

  /// Sends a tick every 100 ms until the receiver is closed.
  func add(_ receiver: any HeartbeatReceiver) {
    state.withLockedValue { state in
      state.receivers.append(receiver)
      guard !state.isRunning, !state.isStopped else { return }
      state.isRunning = true
      state.task = Task(executorPreference: executor) { await self.run() }
    }
  }

  /// Stops all ticks; returns when its task has ended.
  func stop() async {
    let task = state.withLockedValue { state in
      state.isStopped = true
      return state.task
    }
    task?.cancel()
    await task?.value
  }

  /// Ends when no receiver is left.
  private func run() async {
    while let receivers = next() {
      let now = clock.now
      let closed = Set(receivers.filter { !$0.tick() }.map { ObjectIdentifier($0) })
      if !closed.isEmpty { remove(closed) }
      do {
        try await clock.sleep(until: now + Self.interval)
      } catch {
        // The sleep was cancelled. A clock that cannot wait must not cause a busy loop.
        return state.withLockedValue { $0.isRunning = false }
      }
    }
  }

  private func remove(_ closed: Set<ObjectIdentifier>) {
    state.withLockedValue { $0.receivers.removeAll { closed.contains(ObjectIdentifier($0)) } }
  }

  private func next() -> [any HeartbeatReceiver]? {
    state.withLockedValue { state in
      guard !state.receivers.isEmpty, !state.isStopped else {
        state.isRunning = false
        return nil
      }
      return state.receivers
    }
  }
}

/// What is checked periodically.
protocol HeartbeatReceiver: AnyObject, Sendable {
  /// Handles a tick; false when it wants no more.
  func tick() -> Bool
}
