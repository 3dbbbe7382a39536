public import HaulCore
public import NIOCore

extension ByteBuffer: ByteChunk {
  /// Its readable bytes.
  public var count: Int { readableBytes }

  /// Calls `body` with the bytes, which are valid during the call.
  public func withBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result {
    try withUnsafeReadableBytes(body)
  }
}

/// A response body, with the client's errors mapped. Releasing it closes the connection.
struct ResponseBodySequence<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable
where Base.Element == ByteBuffer {
  typealias Element = any ByteChunk

  private let body: Base
  private let origin: ResourceURL.Origin

  init(_ body: Base, from origin: ResourceURL.Origin) {
    self.body = body
    self.origin = origin
  }

  struct AsyncIterator: ChunkIterator {
    var base: Base.AsyncIterator
    let origin: ResourceURL.Origin

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> (any ByteChunk)? {
      do {
        return try await base.next(isolation: actor)
      } catch let error as CancellationError {
        throw error
      } catch {
        throw TransferError(mapping: error, from: origin)
      }
    }
  }

  func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(base: body.makeAsyncIterator(), origin: origin)
  }
}
