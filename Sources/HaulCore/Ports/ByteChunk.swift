public import FoundationEssentials

/// Bytes from the network, which are not copied on their way to the disk.
///
/// `[UInt8]` and `Data` conform. Conform your network's own type to save a copy.
public protocol ByteChunk: Sendable {
  /// The number of bytes; `withBytes` passes exactly as many.
  var count: Int { get }
  /// Calls `body` with the bytes and returns its result. `body` must not keep the buffer.
  func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result
}

/// Reads the chunks of a body on the actor of its caller.
package protocol ChunkIterator: AsyncIteratorProtocol<any ByteChunk, any Error> {}

extension ChunkIterator {
  package mutating func next() async throws -> (any ByteChunk)? {
    try await next(isolation: #isolation)
  }
}

extension [UInt8]: ByteChunk {
  /// Calls `body` with the bytes and returns its result. `body` must not keep the buffer.
  public func withBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result {
    try withUnsafeBytes(body)
  }
}

extension Data: ByteChunk {
  /// Calls `body` with the bytes and returns its result. `body` must not keep the buffer.
  public func withBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result {
    try withUnsafeBytes(body)
  }
}
