import HaulCore

extension Engine {
  /// Sends a request once its host may be asked: a pause that a server asked for holds for every
  /// transfer of the host. Waiting for that is no silence of the connection.
  ///
  /// - Parameter host: the host that the scheduler knows the transfer by.
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
