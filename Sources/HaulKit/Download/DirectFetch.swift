import HaulCore
import NIOConcurrencyHelpers

/// One request without a task of its own: as `WatchedFetch`, for the first request of one of many transfers, which are small
/// more often than not. A large body comes with a little less work by the other way.
struct DirectFetch: Sendable {
  let id: SegmentID
  let stop: StopSignal
  let engine: Engine
  /// Called once.
  let tell: @Sendable (DownloadRun.Message) -> Void

  /// What is seen of the request while it is under way.
  private struct Watch {
    /// The heartbeat that looks whether it is silent.
    var beat: UInt64?
    var isSilent = false
    var isOver = false
  }

  /// False, and nothing is told, when it takes a task: where the transfer is the only one of its host, or the host wants to
  /// be left alone, or requests are to be prepared, or the transport knows no other way.
  func begin(_ request: FetchRequest, of host: String) -> Bool {
    let isOneOfMany = engine.slots.update {
      $0.transfers(of: host) > 1 && $0.backOffEnd(of: host) == nil
    }
    guard isOneOfMany, engine.prepare == nil else { return false }
    let watch = NIOLockedValueBox(Watch())
    let handle = engine.transport.begin(request) { [self] result in
      let seen = watch.withLockedValue { watch in
        watch.isOver = true
        return watch
      }
      if let number = seen.beat { engine.heartbeat.remove(number) }
      tell(message(result, isSilent: seen.isSilent))
    }
    guard let handle else { return false }
    let (start, timeout) = (engine.clock.now, engine.idleTimeout)
    let number = engine.heartbeat.add { now in
      guard now - start >= timeout else { return }
      watch.withLockedValue { $0.isSilent = true }
      handle.cancel()
    }
    let isOver = watch.withLockedValue { watch in
      watch.beat = number
      return watch.isOver
    }
    // It may have been answered meanwhile.
    if isOver { engine.heartbeat.remove(number) }
    stop.whenStopped { handle.cancel() }
    return true
  }

  private func message(
    _ result: Result<FetchResponse, any Error>, isSilent: Bool
  ) -> DownloadRun.Message {
    switch result {
    // One that crossed with the stop is let go of by the machine.
    case .success(let response): return .response(id, HeldAnswer(response))
    case .failure where stop.isStopped: return .event(.stopped(id))
    case .failure where isSilent: return .event(.failed(id, engine.silent))
    case .failure(let error as TransferError): return .event(.failed(id, error))
    case .failure: return .event(.stopped(id))
    }
  }
}

extension Engine {
  /// Why a connection is given up that nothing comes from.
  var silent: TransferError {
    TransferError(.stalled, "nothing came for \(idleTimeout); try again later", isRetryable: true)
  }
}
