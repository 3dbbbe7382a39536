import HaulCore
import HaulFiles

/// Bytes of a file, read as fast as the connection takes them and the rate limits allow.
struct UploadBody: AsyncSequence, Sendable {
  typealias Element = any ByteChunk
  typealias Failure = any Error

  let source: UploadSource
  let range: ByteRange
  /// The number of the part.
  let part: Int
  let context: RunContext
  let progress: UploadProgress

  /// Memory of one upload: this much is read, and about as much waits in the connection.
  private static let chunkSize = 256 << 10

  struct AsyncIterator: AsyncIteratorProtocol {
    let body: UploadBody
    private var offset: Int64

    init(_ body: UploadBody) {
      self.body = body
      offset = body.range.lowerBound
    }

    mutating func next() async throws -> (any ByteChunk)? {
      let rest = body.range.upperBound - offset
      guard rest > 0 else { return nil }
      body.progress.beginRead(body.part)
      let count = try await body.takeRate(upTo: Int(Swift.min(rest, Int64(UploadBody.chunkSize))))
      let bytes = try await body.read(count, at: offset)
      offset += Int64(count)
      body.progress.take(count, of: body.part)
      return bytes
    }

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> (any ByteChunk)? {
      try await next()
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

  /// How many bytes the rate limits allow, at least one; returns when they may be sent.
  private func takeRate(upTo count: Int) async throws -> Int {
    let count = try await context.take(upTo: count)
    return try await context.engine.take(upTo: count, for: context.id)
  }

  private func read(_ count: Int, at offset: Int64) async throws(TransferError) -> [UInt8] {
    try await context.engine.io.run { [source] () throws(TransferError) in
      try source.read(count, at: offset)
    }
  }
}
