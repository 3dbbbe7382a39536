/// The network, as a port: sends requests and returns responses.
///
/// `TransferManager.init(_:transport:)` accepts your own: a mock, or a session of the system.
///
/// Haul decides what to request, checks each answer, retries, and writes. A transport does this:
///
/// - **Request.** Send a GET of `request.url` with the fields of `request.headersToSend`, and
///   return the answer, whatever its status. A server or a mock without ranges answers 200 with the
///   whole file; Haul can use that.
/// - **Redirects.** Follow them, 20 at most. `request.redirected(to:)` returns the next
///   request, without secrets for another origin. The head has the last `url`, and `wasRedirected`.
/// - **Body.** Return its bytes without decoding. It ends when it is complete, as its framing says.
///   If the connection closes before that, `body` throws `connectionLost`.
/// - **Errors.** Throw `TransferError`, from here and from the body. Haul retries those with
///   `isRetryable`: `dns`, `connect`, `connectionLost`, `timeout`. Any other error counts as
///   `connectionLost`, and is retried.
/// - **Cancellation.** If the task of `fetch`, or the one that reads the body, is cancelled, close
///   the connection and soon throw `CancellationError`. Also close it when the body is released.
/// - **Time.** Limit the time for connecting and for the wait for a head. The manager limits the
///   idle time of a body, with `Configuration.idleTimeout`.
///
/// Calls come from many tasks at once, as many as the limits of the manager allow.
public protocol Transport: Sendable {
  /// Sends the request, follows redirects, and returns when the final head has arrived.
  /// - Throws: `TransferError`; `CancellationError` if the task was cancelled.
  func fetch(_ request: FetchRequest) async throws -> FetchResponse
  /// Like `fetch`, without a waiting task: `answer` is called once, on any thread, and must not
  /// block. A short body is collected. Returns nil, and sends nothing, if only `fetch` can send
  /// this request; that is the default.
  func begin(
    _ request: FetchRequest,
    _ answer: @escaping @Sendable (Result<FetchResponse, any Error>) -> Void
  ) -> (any FetchHandle)?
  /// Sends a request for an upload, follows no redirect, and returns when the answer has arrived.
  /// It reads the body only as fast as the connection takes it. If the server answers with an
  /// error before it has the whole body, this returns that answer. The default refuses.
  /// - Throws: `TransferError`; `CancellationError` if the task was cancelled.
  func send(_ request: SendRequest) async throws -> SendResponse
}

/// A request in progress, to cancel it.
public protocol FetchHandle: Sendable {
  /// Closes the connection, unless the answer has arrived; `answer` is called in any case.
  func cancel()
}

extension Transport {
  /// Returns nil: requests are sent by `fetch`.
  public func begin(
    _ request: FetchRequest,
    _ answer: @escaping @Sendable (Result<FetchResponse, any Error>) -> Void
  ) -> (any FetchHandle)? { nil }

  /// Refuses: this transport only downloads.
  /// - Throws: `not-yet-supported`.
  public func send(_ request: SendRequest) async throws -> SendResponse {
    throw TransferError(.notYetSupported, "this transport only downloads")
  }
}
