import HaulCore
import HaulFiles

/// Where the bytes of a download go: a part file, or a reader.
///
/// Nothing is written before `begin`, and nothing of an earlier version counts after it.
protocol DownloadTarget: Sendable {
  /// What an earlier run left.
  var recovery: Recovery { get }
  /// Bytes that no checkpoint has made durable yet.
  var dirtyBytes: Int64 { get }

  /// Refuses a length that does not fit, before its body is fetched.
  func ensureRoom(for length: Int64) async throws(TransferError)
  /// Begins a version.
  /// - Parameter checksums: the digests that will be asked about, as far as they are known by now.
  func begin(
    _ version: DownloadMachine.Version, checksums: [Checksum]
  ) async throws(TransferError)
  /// Has the digests of what an earlier run left go on with what comes.
  func expectDigests(_ algorithms: [Checksum.Algorithm])
  /// Bytes that must be read back for the digest, as they came out of order.
  var digestLag: Int64 { get }
  /// Reads some of them.
  func advanceDigest(by limit: Int64, isCancelled: @escaping @Sendable () -> Bool)
    async throws(TransferError)
  /// Where one segment's bytes go.
  /// - Parameters:
  ///   - version: begun with the first bytes, and its digests as far as they are known by now.
  ///   - onOwnThread: whether it is called on a thread that may wait for a prompt disk.
  func writer(
    for segment: SegmentID, beginning version: (DownloadMachine.Version, [Checksum])?,
    onOwnThread: Bool
  ) -> any SegmentWriter
  /// Where what an earlier run left can be compared with the server's; empty where that would tell
  /// nothing.
  func comparisonPlaces() async throws(TransferError) -> [ByteRange]
  /// Puts down that bytes from here on are not proved to be of one version with those before.
  func noteUnproved() async throws(TransferError)
  /// Whether exactly these bytes are there.
  func holds(_ bytes: [UInt8], at offset: Int64) async throws(TransferError) -> Bool
  func checkpoint() async throws(TransferError)

  /// - Throws: `checksum-mismatch`, or why it cannot be told.
  func verify(_ checksums: [Checksum], isCancelled: @escaping @Sendable () -> Bool)
    async throws(TransferError)
  /// Publishes a whole download and releases it. Returns at once: `told` is called once, on any
  /// thread, with the path of the file, if it is one.
  func publish(
    length: Int64, modified: Double?,
    _ told: @escaping @Sendable (Result<String?, TransferError>) -> Void)
  /// The same on this thread, which may wait for a prompt disk.
  /// - Returns: nil where that might take long; nothing was done then.
  func publishHere(length: Int64, modified: Double?) throws(TransferError) -> String?
  /// Lets go of what is there; it may be gone on with. The end of every run but a discarded one.
  func release() async
  /// Takes away what is there.
  func discard() async
}

/// Writes what one segment receives. Its bytes follow each other, but for those that it skips.
protocol SegmentWriter: Sendable {
  /// Takes these pieces, all or none of them unless the download fails.
  /// - Parameter isLast: whether nothing follows; then every byte is accounted for when it returns.
  /// - Throws: `TransferError`, `CancellationError`.
  mutating func write(_ pieces: [(bytes: ChunkSlice, offset: Int64)], isLast: Bool) async throws
  /// Returns when every byte written is accounted for, and the version has begun, however little
  /// came of it.
  mutating func end() async throws(TransferError)
}
