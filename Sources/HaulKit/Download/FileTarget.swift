import HaulCore
import HaulFiles

/// A download into a part file, which gets its final name when it is whole.
struct FileTarget: DownloadTarget {
  let claim: TargetClaim
  let url: ResourceURL
  let io: BlockingIO
  let commits: GroupCommit
  let clock: any TransferClock

  private var part: PartFile { claim.part }

  var existing: [DownloadMachine.ExistingFile] { claim.existing }
  var needsExisting: Bool { claim.needsExisting }
  func path(_ name: String) -> String? { claim.directory.filePath(name) }
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
      validator: version.validator, length: version.length, announced: version.announced)
  }

  var takesSmallFiles: Bool { true }

  /// All in one call.
  func put(
    _ pieces: [(bytes: ChunkSlice, offset: Int64)], as version: DownloadMachine.Version,
    checksums: [Checksum], onOwnThread: Bool
  ) async throws {
    let now = clock.now
    try await (onOwnThread ? io.inPlace : io).run { [self] () throws(TransferError) in
      if let length = version.length { try part.ensureRoom(for: length) }
      try part.begin(
        head(of: version), digesting: checksums.map(\.algorithm), reserving: false)
      var writer = try part.writer(at: 0, now: now)
      for piece in pieces {
        if piece.offset != writer.offset {
          try part.claim(&writer)
          writer = try part.writer(at: piece.offset, now: now)
        }
        try part.write([piece.bytes], with: &writer, now: now)
      }
      try part.claim(&writer)
    }
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

  func writer(for segment: SegmentID, onOwnThread: Bool) -> any SegmentWriter {
    FileSegmentWriter(part: part, io: onOwnThread ? io.inPlace : io, clock: clock)
  }

  func comparisonPlaces() async throws(TransferError) -> [ByteRange] {
    try await io.run { [part] () throws(TransferError) in try part.comparisonPlaces() }
  }

  func noteUnproved() async throws(TransferError) {
    try await io.run { [part] () throws(TransferError) in try part.noteUnproved() }
  }

  func holds(_ bytes: [UInt8], at offset: Int64) async throws(TransferError) -> Bool {
    try await io.run { [part] () throws(TransferError) in try part.holds(bytes, at: offset) }
  }

  func checkpoint() async throws(TransferError) {
    try await io.run { [part] () throws(TransferError) in try part.checkpoint() }
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
        """
        the file is not the one asked for: expected \(expected), got \(got); its bytes are in \
        \(keeper): run it again to fetch them anew, or with another --checksum to keep them
        """)
    }
  }

  func publish(length: Int64, modified: Double?) async throws(TransferError) -> String? {
    if part.isPutOff {
      return try await Handover<Result<String?, TransferError>>.wait { handover in
        commit(length: length, modified: modified, handover.give)
      }.get()
    }
    let name = try await io.run { [claim] () throws(TransferError) in
      let name = try claim.publish(length: length, modified: modified)
      claim.part.release()
      return name
    }
    return claim.directory.filePath(name.text)
  }

  func beginPublishing(
    length: Int64, modified: Double?,
    _ told: @escaping @Sendable (Result<String?, TransferError>) -> Void
  ) -> Bool {
    guard part.isPutOff else { return false }
    commit(length: length, modified: modified, told)
    return true
  }

  private func commit(
    length: Int64, modified: Double?,
    _ told: @escaping @Sendable (Result<String?, TransferError>) -> Void
  ) {
    commits.publish(claim, length: length, modified: modified) { [directory = claim.directory] in
      told($0.map { directory.filePath($0.text) })
    }
  }

  func release() async {
    // Letting go cannot fail: there is nothing left to lose.
    try? await io.run { [part] () throws(TransferError) in part.release() }
  }

  func discard() async {
    // What cannot be removed now stays a part file, which a later run adopts.
    try? await io.run { [part] () throws(TransferError) in try part.discard() }
  }
}

/// Writes one segment into the part file, off the cooperative threads.
struct FileSegmentWriter: SegmentWriter {
  let part: PartFile
  let io: BlockingIO
  let clock: any TransferClock
  private var extent: ExtentWriter?

  init(part: PartFile, io: BlockingIO, clock: any TransferClock) {
    self.part = part
    self.io = io
    self.clock = clock
  }

  mutating func write(_ pieces: [(bytes: ChunkSlice, offset: Int64)]) async throws {
    for piece in pieces {
      extent = try await append(piece.bytes, at: piece.offset, extent)
    }
  }

  /// Writes behind what the writer wrote, or, where something was skipped, with a new writer.
  private func append(
    _ bytes: ChunkSlice, at offset: Int64, _ writer: ExtentWriter?
  ) async throws(TransferError) -> ExtentWriter {
    let (part, now) = (part, clock.now)
    return try await io.run { () throws(TransferError) in
      var next: ExtentWriter
      if let writer, writer.offset == offset {
        next = writer
      } else {
        if var last = writer { try part.claim(&last) }
        next = try part.writer(at: offset, now: now)
      }
      try part.write([bytes], with: &next, now: now)
      return next
    }
  }

  mutating func end() async throws(TransferError) {
    guard let extent else { return }
    try await io.run { [part] () throws(TransferError) in
      var last = extent
      try part.claim(&last)
    }
  }
}

extension TargetClaim {
  /// Gives the part its final name, or the next free one where a number may be added.
  /// - Throws: as `PartFile.publish`.
  func publish(length: Int64, modified: Double?) throws(TransferError) -> FileName {
    var candidate = name
    while true {
      do {
        try part.publish(
          as: candidate.text, length: length, modified: modified,
          replacing: candidate == name && mayReplace)
        return candidate
      } catch  where error.code == .nameConflict && mayBeNumbered {
        candidate = try nextFreeName()
      }
    }
  }
}
