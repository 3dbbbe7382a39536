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
    while let end = pauseEnd(of: host) { try await clock.sleep(until: end) }
    idleTimer?.begin(at: clock.now)
    return try await send(request, idleTimer)
  }

  /// Sends a request of a transfer, which waits for a pause without its slot.
  /// - Throws: an error with the cause `hostPaused`, and those of the transport.
  func fetchUnlessPaused(
    _ request: FetchRequest, of host: String, _ idleTimer: IdleTimer
  ) async throws -> FetchResponse {
    guard pauseEnd(of: host) == nil else {
      throw TransferError(.rateLimited, "the host asked for a pause", isRetryable: true)
        .with(.hostPaused)
    }
    return try await send(request, idleTimer)
  }

  private func pauseEnd(of host: String) -> Instant? {
    scheduler.update { $0.pauseEnd(of: host) }.flatMap { $0 > clock.now ? $0 : nil }
  }
}
