public import FoundationEssentials
public import HaulCore

/// The bytes of one download, in order, while they arrive over several connections.
///
/// At most `Configuration.streamWindow` bytes are buffered, so a slow reader slows the network. One
/// reader at a time is allowed; releasing the sequence before its end cancels the transfer.
public struct TransferBytes: AsyncSequence, Sendable {
  /// Consecutive bytes, as the network delivered them.
  public struct Chunk: ByteChunk {
    let slice: ChunkSlice

    /// The number of bytes.
    public var count: Int { slice.count }

    /// Calls `body` with the bytes, which are valid during the call.
    public func withUnsafeBytes<Result>(
      _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
      try slice.withBytes(body)
    }

    /// As `withUnsafeBytes`.
    public func withBytes<Result>(
      _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
      try withUnsafeBytes(body)
    }

    /// A copy of the bytes.
    public var bytes: [UInt8] { withUnsafeBytes { Array($0) } }
  }

  /// Reads the bytes of one transfer.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let reading: Reading
    var periodicYield = PeriodicYield()

    /// The next bytes; nil when the transfer has completed and everything was read.
    /// - Throws: why it failed; `interrupted` when it was paused; `cancelled`.
    public mutating func next() async throws(TransferError) -> Chunk? {
      await periodicYield.next()
      return try await reading.buffer.next().map { Chunk(slice: $0) }
    }

    /// As `next()`.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(TransferError) -> Chunk? {
      await periodicYield.next()
      return try await reading.buffer.next().map { Chunk(slice: $0) }
    }
  }

  /// The error type of the sequence.
  public typealias Failure = TransferError

  let reading: Reading

  init(_ buffer: StreamBuffer) { reading = Reading(buffer: buffer) }

  /// What the server answered, once the answer is accepted and before its bytes are read: a service
  /// that passes the bytes on can send status and fields first.
  /// - Throws: why the download failed, with the server's `status`, if it has no such answer;
  ///   `interrupted` when it was paused; `cancelled`.
  public var head: TransferResponse {
    get async throws(TransferError) {
      guard let head = try await reading.buffer.head() else {
        throw TransferError(.internal, "the stream ended without an answer")
      }
      return head
    }
  }

  /// All bytes.
  /// - Parameter maximum: the most bytes that are taken.
  /// - Throws: `too-large` if there are more: the transfer is cancelled once this value is
  ///   released; as `AsyncIterator.next()`.
  public func collect(upTo maximum: Int) async throws(TransferError) -> Data {
    var data = Data()
    var iterator = makeAsyncIterator()
    while let chunk = try await iterator.next() {
      guard chunk.count <= maximum - data.count else {
        throw TransferError(.tooLarge, "the stream has more than \(maximum) bytes")
      }
      chunk.withUnsafeBytes { data.append(contentsOf: $0) }
    }
    return data
  }

  /// The iterator of the one reader.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reading: reading) }

  /// The most bytes that were buffered at once so far.
  package var peakBuffered: Int64 { reading.buffer.peakBuffered }
  /// The bytes that are buffered, or held by the reader.
  package var bufferedBytes: Int64 { reading.buffer.bufferedBytes }

  /// How many segments wait for the reader, plus 1 if the reader waits for them.
  package var waiting: Int { reading.buffer.waiting }

  /// Stops the stream when its last reader is released.
  final class Reading: Sendable {
    let buffer: StreamBuffer

    init(buffer: StreamBuffer) { self.buffer = buffer }

    deinit { buffer.abandoned.stop() }
  }
}
