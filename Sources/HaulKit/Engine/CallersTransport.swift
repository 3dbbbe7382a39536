import HaulCore

/// A transport that is not Haul's: whatever it throws becomes a `TransferError`, or is the end of a
/// cancelled task.
struct CallersTransport: Transport {
  let base: any Transport

  func fetch(_ request: FetchRequest) async throws -> FetchResponse {
    do {
      return try await base.fetch(request).withKnownErrors
    } catch {
      throw known(error, isCancelled: Task.isCancelled)
    }
  }

  func begin(
    _ request: FetchRequest,
    _ answer: @escaping @Sendable (Result<FetchResponse, any Error>) -> Void
  ) -> (any FetchHandle)? {
    base.begin(request) { result in
      // Whether the handle was cancelled is known to the caller's transport only.
      answer(result.map(\.withKnownErrors).mapError { known($0, isCancelled: true) })
    }
  }
}

/// What its message says may be secret, so its type is told.
private func known(_ error: any Error, isCancelled: Bool) -> any Error {
  if error is TransferError { return error }
  if error is CancellationError, isCancelled { return error }
  return TransferError(
    .connectionLost, "the transport failed (\(type(of: error)))", isRetryable: true)
}

extension FetchResponse {
  fileprivate var withKnownErrors: FetchResponse {
    FetchResponse(
      head: head, body: CallersBody(base: body), executor: executor, collected: collected)
  }
}

/// A body whose errors are known ones.
private struct CallersBody: AsyncSequence, Sendable {
  typealias Element = any ByteChunk
  typealias Failure = any Error

  let base: FetchResponse.Body

  struct AsyncIterator: AsyncIteratorProtocol {
    var base: any AsyncIteratorProtocol<any ByteChunk, any Error>

    mutating func next() async throws -> (any ByteChunk)? {
      try await next(isolation: #isolation)
    }

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> (any ByteChunk)? {
      do {
        return try await base.next(isolation: actor)
      } catch {
        throw known(error, isCancelled: Task.isCancelled)
      }
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: base.makeAsyncIterator()) }
}
