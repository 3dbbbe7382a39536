import HaulCore
import HaulFiles

/// A download to a part file, published when it is whole.
struct FileTarget: DownloadTarget {
  let claim: TargetClaim
  let url: ResourceURL
  let isOfClient: Bool
  let io: BlockingIO
  let groupPublisher: GroupPublisher
  let clock: any TransferClock

  private var part: PartFile { claim.part }

  var recovery: Recovery { part.recovery }
  var dirtyBytes: Int64 { part.dirtyBytes }

  func ensureRoom(for length: Int64) async throws(TransferError) {
    try await io.run { [part] () throws(TransferError) in try part.ensureRoom(for: length) }
  }

  func begin(
    _ version: DownloadMachine.Version, checksums: [Checksum]
  ) async throws(TransferError) {
    let head = head(of: version)
    try await io.run { [part] () throws(TransferError) in
      try part.begin(head, digesting: checksums.map(\.algorithm))
    }
  }

  private func head(of version: DownloadMachine.Version) -> JournalHead {
    JournalHead(
      url: url, location: version.location.flatMap { $0 == url ? nil : $0 },
      validator: version.validator, length: version.length, announced: version.announced,
      coding: version.coding, isOfClient: isOfClient)
  }

  var digestLag: Int64 { part.digestLag }

  func expectDigests(_ algorithms: [Checksum.Algorithm]) { part.expectDigests(algorithms) }

  func advanceDigest(
    by limit: Int64, isCancelled: @escaping @Sendable () -> Bool
  ) async throws(TransferError) {
    try await io.run { [part] () throws(TransferError) in
      try part.advanceDigest(by: limit, isCancelled: isCancelled)
    }
  }

  func writer(
    for segment: SegmentID, beginning version: (DownloadMachine.Version, [Checksum])?,
    onOwnThread: Bool
  ) -> any SegmentWriter {
    FileSegmentWriter(
      part: part, io: onOwnThread ? io.inPlace : io, clock: clock,
      beginning: version.map { (head(of: $0), $1.map(\.algorithm)) })
  }

  func comparisonRanges() async throws(TransferError) -> [ByteRange] {
    try await io.run { [part] () throws(TransferError) in try part.comparisonRanges() }
  }

  func noteMixedVersions() async throws(TransferError) {
    try await io.run { [part] () throws(TransferError) in try part.noteMixedVersions() }
  }

  func holds(_ bytes: [UInt8], at offset: Int64) async throws(TransferError) -> Bool {
    try await io.run { [part] () throws(TransferError) in try part.holds(bytes, at: offset) }
  }

  func firstBytes(_ count: Int) async throws(TransferError) -> [UInt8] {
    try await io.run { [part] () throws(TransferError) in try part.firstBytes(count) }
  }

  func checkpoint(isLast: Bool) async throws(TransferError) {
    try await io.run { [part] () throws(TransferError) in try part.checkpoint(isLast: isLast) }
  }

  func verify(
    _ checksums: [Checksum], isCancelled: @escaping @Sendable () -> Bool
  ) async throws(TransferError) {
    let keeper = claim.directory.filePath(part.partName)
    try await io.run { [part] () throws(TransferError) in
      let found = try part.digests(checksums.map(\.algorithm), isCancelled: isCancelled)
      guard let (expected, got) = checksums.mismatch(with: found) else { return }
      try part.reject(expected)
      throw TransferError(
        .checksumMismatch,
        "the file does not match: expected \(expected), got \(got)",
        advice: "its bytes are in \(keeper): run it again to fetch them anew, or with another "
          + "checksum to keep them")
    }
  }

  func publish(
    length: Int64, modified: Double?,
    _ completionHandler: @escaping @Sendable (Result<String?, TransferError>) -> Void
  ) {
    if part.isDeferred {
      return groupPublisher.publish(claim, length: length, modified: modified, completionHandler)
    }
    io.start { [claim] isStopped in
      completionHandler(
        Result { () throws(TransferError) in
          guard !isStopped else { throw GroupPublisher.threadsStoppedError }
          return try claim.publishAndRelease(length: length, modified: modified)
        })
    }
  }

  func publishInPlace(length: Int64, modified: Double?) throws(TransferError) -> String? {
    guard part.endsWithoutSync else { return nil }
    return try io.inPlace.runInPlace { () throws(TransferError) in
      try claim.publishAndRelease(length: length, modified: modified)
    }
  }

  func release() async {
    // Fails only when the file threads have been stopped.
    try? await io.run { [part] () throws(TransferError) in part.release() }
  }

  func discard() async {
    // What cannot be removed now stays a part file, which a later run adopts.
    try? await io.run { [part] () throws(TransferError) in try part.discard() }
  }
}

extension TargetClaim {
  /// - Returns: the path of the file.
  fileprivate func publishAndRelease(
    length: Int64, modified: Double?
  ) throws(TransferError) -> String {
    let name = try publish(length: length, modified: modified)
    part.release()
    return directory.filePath(name.text)
  }

  private func duplicateError(_ name: FileName) -> TransferError {
    TransferError(
      .inUse, "another program downloaded this address to \(name.text) in the meantime",
      advice: "try again")
  }

  /// Publishes the part under its final name, or the next free one if a number may be added. A file
  /// that another run has published meanwhile is replaced if it has the same version: its bytes are
  /// equal, and these are verified.
  /// - Throws: as `PartFile.publish`.
  func publish(length: Int64, modified: Double?) throws(TransferError) -> FileName {
    var candidate = name
    while true {
      do {
        try part.publish(
          as: candidate.text, length: length, modified: modified,
          replacing: candidate == name && mayReplace)
        return candidate
      } catch  where error.code == .nameConflict && mayOutliveConflict {
        if isUpdate, part.hasSameVersion(candidate.text, length: length, modified: modified) {
          try part.publish(as: candidate.text, length: length, modified: modified, replacing: true)
          return candidate
        }
        if numbering == .whenNameIsTaken, part.hasUnchangedCopy(candidate.text) {
          throw duplicateError(candidate)
        }
        guard numbering != .never else { throw error }
        candidate = try nextFreeName()
      }
    }
  }
}
