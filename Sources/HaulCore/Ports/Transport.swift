/// The network, as a port: sends requests and brings responses.
///
/// `TransferManager.init(_:transport:)` takes one of yours: a mock, or a session of the system's.
///
/// Haul decides what to ask for, judges each answer, retries, and writes. A transport does this:
///
/// - **Request.** A GET of `request.url` with the fields of `request.headersToSend`. It returns
///   what the server says, whatever the status. A server or a mock without ranges answers 200 with
///   the whole; Haul copes.
/// - **Redirects** are followed here, some ten at most. `request.redirected(to:)` gives the next
///   request, without what must not be sent to another origin. The head has the last `url`, and
///   `wasRedirected`.
/// - **Body.** Its bytes as they are, with no content coding undone. It ends when it is whole, as
///   the framing says; when the connection closes before that, `body` throws `connectionLost`.
/// - **Errors** are `TransferError`, from here and from the body; Haul tries again what
///   `isRetryable` says: `dns`, `connect`, `connectionLost`, `timeout`. Any other error counts as
///   `connectionLost`, and is tried again.
/// - **Cancellation.** When the task of `fetch` is cancelled, or the one that reads the body, the
///   connection is closed, and `CancellationError` thrown soon. A body that nobody refers to any
///   more is closed, too.
/// - **Time.** A transport limits how long connecting may take, and the wait for a head. Silence in
///   a body is watched by the manager, `Configuration.idleTimeout`.
///
/// Calls come from many tasks at once, as many as the limits of the manager permit.
public protocol Transport: Sendable {
  /// Sends the request, follows redirects, and returns when the final head is there.
  /// - Throws: `TransferError`; `CancellationError` when the task was cancelled.
  func fetch(_ request: FetchRequest) async throws -> FetchResponse
  /// As `fetch`, without a task that waits: `answer` is called once, on any thread, and must not
  /// block. A short body is collected. Nil, and nothing is sent or told, where only `fetch` will
  /// do, which is what happens without an implementation.
  func begin(
    _ request: FetchRequest,
    _ answer: @escaping @Sendable (Result<FetchResponse, any Error>) -> Void
  ) -> (any FetchHandle)?
}

/// A request under way, for whoever wants no answer any more.
public protocol FetchHandle: Sendable {
  /// Closes the connection, unless the answer is there; it is told in any case.
  func cancel()
}

extension Transport {
  /// Nil: requests are sent by `fetch`.
  public func begin(
    _ request: FetchRequest,
    _ answer: @escaping @Sendable (Result<FetchResponse, any Error>) -> Void
  ) -> (any FetchHandle)? { nil }
}
