public import FoundationEssentials

/// Bytes as they came from the network: borrowed, never copied on the way to the disk.
///
/// `[UInt8]` and `Data` are some; give a type of your network's conformance to save a copy.
public protocol ByteChunk: Sendable {
  /// How many there are.
  var count: Int { get }
  /// What `body` returns, which must not keep the buffer.
  func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result
}

extension [UInt8]: ByteChunk {
  /// What `body` returns, which must not keep the buffer.
  public func withBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result {
    try withUnsafeBytes(body)
  }
}

extension Data: ByteChunk {
  /// What `body` returns, which must not keep the buffer.
  public func withBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result {
    try withUnsafeBytes(body)
  }
}
