import HaulCore
import Logging

/// One probe and its retries.
struct Prober {
  let request: DownloadRequest
  let engine: Engine

  func run(
    _ retrying: (Int, TransferError, Duration) async -> Void
  ) async throws(TransferError) -> ProbeResult {
    var retry = RetryState(request.retry, startedAt: engine.clock.now)
    var hasAnswered = false
    while true {
      do {
        return try await ask(retry.patience, &hasAnswered)
      } catch {
        var random = engine.random
        let decision = retry.failed(
          RetryState.Failure(
            error, unresponsiveHost: nil, hasAnswered: hasAnswered, isAttended: true),
          at: engine.clock.now, using: &random)
        guard case .retry(let delay, let attempt) = decision else { throw error }
        await retrying(attempt, error, delay)
        try await wait(delay)
      }
    }
  }

  private func ask(
    _ patience: Int, _ hasAnswered: inout Bool
  ) async throws(TransferError) -> ProbeResult {
    var fetch = FetchRequest(
      url: request.askedURL, headers: request.headers, firstByte: 0, lastByte: 0,
      allowInsecure: request.allowInsecure)
    (fetch.isOfClient, fetch.signing) = (request.isOfClient, request.signing)
    (fetch.patience, fetch.bearerFile) = (patience, request.bearerFile)
    fetch.prefersHTTP2 = engine.httpVersion == .http2
    engine.log(asks: fetch)
    do {
      // Dropping the response closes its body.
      let head = try await engine.fetch(fetch, of: request.url.origin.authority).head
      engine.log(head)
      hasAnswered = true
      return try ProbeResult(
        head, to: fetch, of: request, wallSeconds: engine.clock.wallSeconds)
    } catch let error as TransferError {
      throw error
    } catch {
      throw Self.cancelled
    }
  }

  private func wait(_ delay: Duration) async throws(TransferError) {
    do {
      try await engine.clock.sleep(until: engine.clock.now + delay)
    } catch {
      throw Self.cancelled
    }
  }

  private static let cancelled = TransferError(.interrupted, "the probe was cancelled")
}
