import HaulCore
import HaulFiles

/// Where the bytes of a download go: a part file, or a reader.
///
/// Nothing is written before `begin`; after it, bytes of an earlier version no longer count.
protocol DownloadTarget: Sendable {
  /// What an earlier run left.
  var recovery: Recovery { get }
  /// Bytes that no checkpoint has synced yet.
  var dirtyBytes: Int64 { get }

  /// Refuses a length that does not fit, before its body is fetched.
  func ensureRoom(for length: Int64) async throws(TransferError)
  /// Begins a version.
  /// - Parameter checksums: the digests to verify, as far as they are known by now.
  func begin(
    _ version: DownloadMachine.Version, checksums: [Checksum]
  ) async throws(TransferError)
  /// Continues the digests of an earlier run with new bytes.
  func expectDigests(_ algorithms: [Checksum.Algorithm])
  /// Bytes that must be read back for the digest, because they came out of order.
  var digestLag: Int64 { get }
  /// Reads some of them.
  func advanceDigest(by limit: Int64, isCancelled: @escaping @Sendable () -> Bool)
    async throws(TransferError)
  /// A writer for one segment's bytes.
  /// - Parameters:
  ///   - version: begins with the first bytes; its digests as far as they are known by now.
  ///   - onOwnThread: whether it is called on a thread that may wait for a fast disk.
  func writer(
    for segment: SegmentID, beginning version: (DownloadMachine.Version, [Checksum])?,
    onOwnThread: Bool
  ) -> any SegmentWriter
  /// The ranges of an earlier run to compare with the server's bytes; empty if that proves nothing.
  func comparisonRanges() async throws(TransferError) -> [ByteRange]
  /// Records that earlier and later bytes may be of different versions.
  func noteMixedVersions() async throws(TransferError)
  /// Whether exactly these bytes are on disk.
  func holds(_ bytes: [UInt8], at offset: Int64) async throws(TransferError) -> Bool
  /// As many of the first bytes as there are, at most `count`, of a whole file.
  func firstBytes(_ count: Int) async throws(TransferError) -> [UInt8]
  /// - Parameter isLast: whether the run ends with it.
  func checkpoint(isLast: Bool) async throws(TransferError)

  /// - Throws: `checksum-mismatch`, or why it cannot be checked.
  func verify(_ checksums: [Checksum], isCancelled: @escaping @Sendable () -> Bool)
    async throws(TransferError)
  /// Publishes a whole download and releases it. Returns at once; calls `completionHandler` once,
  /// on any thread, with the path if it is a file.
  func publish(
    length: Int64, modified: Double?,
    _ completionHandler: @escaping @Sendable (Result<String?, TransferError>) -> Void)
  /// The same on this thread, which may wait for a fast disk.
  /// - Returns: nil if it might take long; nothing was done then.
  func publishInPlace(length: Int64, modified: Double?) throws(TransferError) -> String?
  /// Releases the target so that a later run can resume. Every run ends with this or `discard`.
  func release() async
  /// Deletes the bytes on disk.
  func discard() async
}

/// Writes what one segment receives: consecutive bytes, except those that it skips.
protocol SegmentWriter: Sendable {
  /// Writes these pieces: all or none, unless the download fails.
  /// - Parameter isLast: whether nothing follows; then every byte is claimed when it returns.
  /// - Throws: `TransferError`, `CancellationError`.
  mutating func write(_ pieces: [(bytes: ChunkSlice, offset: Int64)], isLast: Bool) async throws
  /// Returns when every written byte is claimed, and the version has begun even if no byte came.
  mutating func end() async throws(TransferError)
}
