import HaulCore

/// A body that is a whole stream: what is held of it, then the rest as it comes, as fast as the
/// connection takes it and the rate limits allow.
struct StreamBody: AsyncSequence, Sendable {
  typealias Element = any ByteChunk
  typealias Failure = any Error

  let stream: UploadStream
  /// Its number among the bodies of the stream.
  let number: Int
  let context: RunContext
  let progress: UploadProgress

  struct AsyncIterator: ChunkIterator {
    let body: StreamBody
    private var offset: Int64 = 0

    init(_ body: StreamBody) { self.body = body }

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> (any ByteChunk)? {
      body.progress.beginRead(0)
      let available = try await body.stream.available(at: offset, body: body.number)
      guard available > 0 else {
        body.progress.endBody(of: 0)
        return nil
      }
      let most = Swift.min(available, UploadBody.chunkSize)
      let count = try await body.context.takeRate(upTo: most)
      let bytes = try await body.stream.take(count, at: offset, body: body.number)
      offset += Int64(count)
      body.progress.take(count, of: 0)
      return bytes
    }

  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}
