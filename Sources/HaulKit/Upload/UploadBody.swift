import HaulCore
import HaulFiles

/// Bytes of a file, read as fast as the connection takes them and the rate limits allow.
struct UploadBody: AsyncSequence, Sendable {
  typealias Element = any ByteChunk
  typealias Failure = any Error

  let source: UploadSource
  let range: ByteRange
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
      let bytes = try await body.read(upTo: rest, at: offset)
      offset += Int64(bytes.count)
      return bytes
    }

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> (any ByteChunk)? {
      try await next()
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

  private func read(upTo rest: Int64, at offset: Int64) async throws -> [UInt8] {
    progress.busy()
    let engine = context.engine
    var count = try await context.take(upTo: Int(Swift.min(rest, Int64(Self.chunkSize))))
    count = try await engine.take(upTo: count, for: context.id)
    let bytes = try await engine.io.run { [source, count] () throws(TransferError) in
      try source.read(count, at: offset)
    }
    progress.take(bytes.count)
    return bytes
  }
}
