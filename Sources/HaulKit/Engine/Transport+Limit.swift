import HaulCore

extension Transport {
  /// Sends a request.
  /// - Parameter limit: how long the answer may take; nil for as long as the transport waits.
  /// - Throws: `timeout`, and errors of the transport.
  func send(
    _ request: SendRequest, within limit: Duration?, by clock: any TransferClock
  ) async throws -> SendResponse {
    guard let limit else { return try await send(request) }
    let deadline = clock.now + limit
    return try await withThrowingTaskGroup(of: SendResponse?.self) { group in
      defer { group.cancelAll() }
      group.addTask { try await send(request) }
      group.addTask {
        try await clock.sleep(until: deadline)
        return nil
      }
      guard let answer = try await group.next() ?? nil else {
        throw TransferError(.timeout, "it did not answer within \(limit)", isRetryable: true)
      }
      return answer
    }
  }
}
