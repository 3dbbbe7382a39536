import HaulCore

extension Engine {
  /// Sends a request once its host may be asked: a pause that a server asks for holds for every
  /// transfer of the host. That wait does not count toward the idle timeout.
  ///
  /// - Parameter host: the host under which the scheduler knows the transfer.
  func fetch(
    _ request: FetchRequest, of host: String, _ silence: IdleTimer? = nil
  ) async throws -> FetchResponse {
    silence?.end()
    while let end = slots.update({ $0.backOffEnd(of: host) }), end > clock.now {
      try await clock.sleep(until: end)
    }
    silence?.begin(at: clock.now)
    return try await send(request, silence)
  }
}
