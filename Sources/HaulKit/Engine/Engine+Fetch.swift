import HaulCore

extension Engine {
  /// Sends a request. If the server has asked for a pause, it first waits for the end of the pause,
  /// which holds for every transfer of the host. This wait does not count toward the idle timeout.
  ///
  /// - Parameter host: the host under which the scheduler knows the transfer.
  func fetch(
    _ request: FetchRequest, of host: String, _ idleTimer: IdleTimer? = nil
  ) async throws -> FetchResponse {
    idleTimer?.end()
    while let end = scheduler.update({ $0.pauseEnd(of: host) }), end > clock.now {
      try await clock.sleep(until: end)
    }
    idleTimer?.begin(at: clock.now)
    return try await send(request, idleTimer)
  }
}
