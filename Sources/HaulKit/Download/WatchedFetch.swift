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
    let task = Task(executorPreference: executor ?? engine.soleExecutor) {
      await work(silence)
    }
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

  /// As `run`, of work that may fail.
  func attempt(
    _ work: @escaping @Sendable (Silence) async throws -> DownloadMachine.Event?
  ) async -> DownloadMachine.Event? {
    await run { silence in
      do {
        return try await work(silence)
      } catch let error as TransferError {
        return .failed(id, error)
      } catch {
        return .stopped(id)
      }
    }
  }

  /// Sends a request and hands its answer over; what to tell the machine when there is none.
  func ask(
    _ request: FetchRequest, of host: String,
    _ handOver: @escaping @Sendable (FetchResponse) -> Void
  ) async -> DownloadMachine.Event? {
    await attempt { silence in
      handOver(try await engine.fetch(request, of: host, silence))
      return nil
    }
  }
}
