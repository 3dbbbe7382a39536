import HaulCore
import HaulFiles

/// A download to a reader, which takes the bytes in order while they arrive.
struct StreamTarget: DownloadTarget {
  let buffer: StreamBuffer
  let plan: LockedSegmentPlan

  let recovery = Recovery()
  let dirtyBytes: Int64 = 0

  func ensureRoom(for length: Int64) {}

  func begin(_ version: DownloadMachine.Version, checksums: [Checksum]) {
    buffer.begin(checksums.map(\.algorithm))
  }

  /// The digest is computed while the reader takes the bytes.
  var digestLag: Int64 { 0 }
  func expectDigests(_ algorithms: [Checksum.Algorithm]) {}
  func advanceDigest(by limit: Int64, isCancelled: @escaping @Sendable () -> Bool) {}

  func writer(
    for segment: SegmentID, beginning version: (DownloadMachine.Version, [Checksum])?,
    onOwnThread: Bool
  ) -> any SegmentWriter {
    StreamSegmentWriter(
      buffer: buffer, plan: plan, segment: segment, beginning: version?.1.map(\.algorithm))
  }

  /// A stream has no bytes of an earlier run, and keeps none for a later one.
  func comparisonRanges() -> [ByteRange] { [] }
  func noteMixedVersions() {}
  func holds(_ bytes: [UInt8], at offset: Int64) -> Bool { false }
  func firstBytes(_ count: Int) -> [UInt8] { Array(buffer.firstBytes.prefix(count)) }
  func checkpoint(isLast: Bool) {}

  func verify(
    _ checksums: [Checksum], isCancelled: @escaping @Sendable () -> Bool
  ) async throws(TransferError) {
    let found = try await buffer.digests(of: wholeLength)
    guard let (expected, got) = checksums.mismatch(with: found) else { return }
    throw TransferError(
      .checksumMismatch,
      "the streamed bytes do not match: expected \(expected), got \(got)")
  }

  private var wholeLength: Int64 { plan.update { $0.plan.receivedCount } }

  /// Calls `completionHandler` when the reader asks for more after the last byte.
  func publish(
    length: Int64, modified: Double?,
    _ completionHandler: @escaping @Sendable (Result<String?, TransferError>) -> Void
  ) {
    buffer.whenRead(length) { completionHandler(.success(nil)) }
  }

  func publishInPlace(length: Int64, modified: Double?) -> String? { nil }

  func release() {}
  func discard() {}
}

/// Passes one segment's bytes to the reader's window, and waits if it is full.
struct StreamSegmentWriter: SegmentWriter {
  let buffer: StreamBuffer
  let plan: LockedSegmentPlan
  let segment: SegmentID
  /// The digests of the version that the first bytes begin.
  var beginning: [Checksum.Algorithm]?

  mutating func write(
    _ pieces: [(bytes: ChunkSlice, offset: Int64)], isLast: Bool
  ) async throws {
    if let beginning { buffer.begin(beginning) }
    beginning = nil
    if buffer.take(pieces) { return }
    plan.update { $0.plan.noteWaitForReader(segment) }
    repeat {
      try await buffer.waitForRoom(pieces)
      plan.update { $0.plan.noteWaitForReader(segment) }
    } while !buffer.take(pieces)
  }

  mutating func end() {}
}
