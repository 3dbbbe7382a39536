import HaulCore
import NIOConcurrencyHelpers

/// One connection's work beside those who may end it: a stop signal, and silence.
struct WatchedFetch: Sendable {
  let id: SegmentID
  let stop: StopSignal
  let engine: Engine
  /// Where the work runs; nil for the common threads.
  var executor: (any TaskExecutor)?

  /// What to tell the machine; returns when the work has ended in any case.
  func run(
    _ work: @escaping @Sendable (Silence) async -> DownloadMachine.Event?
  ) async -> DownloadMachine.Event? {
    let silence = Silence(since: engine.clock.now)
    let isSilent = NIOLockedValueBox(false)
    let task = Task(executorPreference: executor) { await work(silence) }
    stop.whenStopped { task.cancel() }
    let beat = engine.heartbeat.add { [timeout = engine.idleTimeout] now in
      guard let since = silence.start, now - since >= timeout else { return }
      isSilent.withLockedValue { $0 = true }
      task.cancel()
    }
    defer { engine.heartbeat.remove(beat) }
    let event = await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      task.cancel()
    }
    // A response that was handed over meanwhile is under way to the machine: nothing may follow it.
    guard let event else { return nil }
    if Task.isCancelled || stop.isStopped { return .stopped(id) }
    guard isSilent.withLockedValue({ $0 }) else { return event }
    // What was done before the cancellation came to it is done.
    if case .ended = event { return event }
    return .failed(id, engine.silent)
  }
}
