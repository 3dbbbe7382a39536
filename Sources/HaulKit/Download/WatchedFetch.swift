import HaulCore

/// One connection's work beside those who may end it: a stop signal, and silence.
struct WatchedFetch: Sendable {
  let id: SegmentID
  let stop: StopSignal
  let engine: Engine

  private enum Outcome: Sendable {
    case worked(DownloadMachine.Event?)
    case stopped
    case silent
  }

  /// What to tell the machine; returns when the work has ended in any case.
  func run(
    _ work: @escaping @Sendable (Silence) async -> DownloadMachine.Event?
  ) async -> DownloadMachine.Event? {
    let silence = Silence(since: engine.clock.now)
    return await withTaskGroup(of: Outcome.self) { group in
      group.addTask { .worked(await work(silence)) }
      group.addTask {
        await stop.wait()
        return .stopped
      }
      group.addTask {
        await waitForSilence(silence)
        return .silent
      }
      let first = await group.next()
      group.cancelAll()
      // A response that was handed over meanwhile is under way to the machine: nothing may follow it.
      for await late in group {
        if case .worked(nil) = late { return nil }
      }
      switch first {
      case .worked(let event): return event
      case .silent where !Task.isCancelled: return .failed(id, silent)
      case .silent, .stopped, nil: return .stopped(id)
      }
    }
  }

  private var silent: TransferError {
    TransferError(
      .stalled, "nothing came for \(engine.idleTimeout); try again later", isRetryable: true)
  }

  /// Returns when nothing was heard for the idle timeout, or when cancelled.
  private func waitForSilence(_ silence: Silence) async {
    while true {
      let now = engine.clock.now
      let since = silence.start ?? now
      if now - since >= engine.idleTimeout { return }
      guard (try? await engine.clock.sleep(until: since + engine.idleTimeout)) != nil else {
        return
      }
    }
  }
}
