import FoundationEssentials
import HaulCore

/// A body that is also collected while it is read. `take` gets it once it is whole, before the
/// reader gets the last chunk; or nil once it is longer than the limit. A body that breaks off, or
/// that is not read to its end, is not taken.
struct CollectingBody: AsyncSequence, Sendable {
  typealias Element = any ByteChunk
  typealias Failure = any Error

  let base: FetchResponse.Body
  /// Nil if its end shows it.
  let length: Int64?
  let limit: Int64
  let take: @Sendable (Data?) async -> Void

  struct AsyncIterator: ChunkIterator {
    fileprivate var base: any AsyncIteratorProtocol<any ByteChunk, any Error>
    fileprivate let length: Int64?
    fileprivate let limit: Int64
    fileprivate let take: @Sendable (Data?) async -> Void
    /// Nil when it was taken.
    fileprivate var bytes: Data? = Data()

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> (any ByteChunk)? {
      let chunk = try await base.next(isolation: actor)
      guard let chunk else {
        if length == nil { await end(with: bytes) }
        return nil
      }
      chunk.withBytes { bytes?.append(contentsOf: $0) }
      // A reader that knows the length does not wait for the end.
      if let count = bytes.map({ Int64($0.count) }) {
        if count > limit {
          await end(with: nil)
        } else if count == length {
          await end(with: bytes)
        }
      }
      return chunk
    }

    private mutating func end(with data: Data?) async {
      guard bytes != nil else { return }
      bytes = nil
      await take(data)
    }
  }

  func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(base: base.makeAsyncIterator(), length: length, limit: limit, take: take)
  }
}
