import HaulCore

/// The caller's own transport. Its errors become `TransferError`, except the cancellation of a
/// task.
struct ErrorMappingTransport: Transport {
  let base: any Transport

  func fetch(_ request: FetchRequest) async throws -> FetchResponse {
    do {
      return try await base.fetch(request).withKnownErrors
    } catch {
      throw known(error, isCancelled: Task.isCancelled)
    }
  }

  func send(_ request: SendRequest) async throws -> SendResponse {
    do {
      return try await base.send(request)
    } catch {
      throw known(error, isCancelled: Task.isCancelled)
    }
  }

  func begin(
    _ request: FetchRequest,
    _ answer: @escaping @Sendable (Result<FetchResponse, any Error>) -> Void
  ) -> (any FetchHandle)? {
    base.begin(request) { result in
      // Only the caller's transport knows whether the handle was cancelled.
      answer(result.map(\.withKnownErrors).mapError { known($0, isCancelled: true) })
    }
  }
}

/// The error that Haul reports: it names the type, because the message may hold secrets.
private func known(_ error: any Error, isCancelled: Bool) -> any Error {
  if error is TransferError { return error }
  if error is CancellationError, isCancelled { return error }
  return TransferError(
    .connectionLost, "the transport failed (\(type(of: error)))", isRetryable: true)
}

extension FetchResponse {
  fileprivate var withKnownErrors: FetchResponse {
    let isRight = collected.map { chunks in
      chunks.allSatisfy(\.isByteCountCorrect)
        && chunks.reduce(Int64(0)) { $0 + Int64($1.count) } <= announced
    }
    return FetchResponse(
      head: head, body: ErrorMappingBody(base: body, announced: announced), executor: executor,
      // A body that is too long, or wrong, is read from `body`, which reports that.
      collected: isRight == true ? collected : nil)
  }

  /// The length of the body by its header; the largest number if that does not say it.
  private var announced: Int64 {
    // With a coding it may be the length before decoding.
    guard head.headers["Content-Encoding"] == nil else { return .max }
    return head.headers.single("Content-Length").flatMap { Int64($0) } ?? .max
  }
}

extension ByteChunk {
  /// Whether the buffer has as many bytes as `count` says; more would be read from foreign memory.
  fileprivate var isByteCountCorrect: Bool { withBytes(\.count) == count }
}

/// A body whose errors are converted, and which must not be longer than announced.
private struct ErrorMappingBody: AsyncSequence, Sendable {
  typealias Element = any ByteChunk
  typealias Failure = any Error

  let base: FetchResponse.Body
  let announced: Int64

  struct AsyncIterator: ChunkIterator {
    var base: any AsyncIteratorProtocol<any ByteChunk, any Error>
    var rest: Int64

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> (any ByteChunk)? {
      let chunk: (any ByteChunk)?
      do {
        chunk = try await base.next(isolation: actor)
      } catch {
        throw known(error, isCancelled: Task.isCancelled)
      }
      guard let chunk else { return nil }
      guard chunk.isByteCountCorrect else {
        throw TransferError(
          .protocolViolation, "the transport delivered a chunk without the bytes that it counts")
      }
      rest -= Int64(chunk.count)
      guard rest >= 0 else {
        throw TransferError(
          .protocolViolation, "the transport delivered more bytes than Content-Length announced")
      }
      return chunk
    }
  }

  func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(base: base.makeAsyncIterator(), rest: announced)
  }
}
