package import HaulCore
import HaulLibC
import NIOConcurrencyHelpers

/// The bytes of one download on disk, and the journal that claims them. Every call may block: run
/// it on `BlockingIO`. After a failed sync, or when another process took over the file, every call
/// fails: release it and acquire it again.
package final class PartFile: Sendable {
  let directory: any DiskDirectory
  let names: PartNames
  let durability: DownloadRequest.Durability
  let nonce: [UInt8]
  let bootID: String
  let creationMask: UInt32
  let user: UInt32
  let state: NIOLockedValueBox<PartState>
  /// One sync at a time, because an error is reported to one caller only. True once the names are
  /// durable.
  let syncLock = NIOLockedValueBox(false)

  /// The files of earlier runs.
  package let recovery: Recovery

  /// Sets the address for the record of the finished file.
  package func setSourceURL(from url: ResourceURL) { state.withLockedValue { $0.url = url } }

  /// Whether the file of that name was downloaded from the same address and is unchanged. Blocks.
  package func hasUnchangedCopy(_ name: String) -> Bool {
    guard let url = state.withLockedValue({ $0.url }) else { return false }
    return FileRecord.read(name, in: directory, user: user)?.matches(url) == true
  }

  /// Whether the file of that name is unchanged, and provably the same version of the same address.
  /// Blocks.
  package func hasSameVersion(_ name: String, length: Int64, modified: Double?) -> Bool {
    let (url, head) = state.withLockedValue { ($0.url, $0.head) }
    guard let url, let head, let record = FileRecord.read(name, in: directory, user: user) else {
      return false
    }
    return record.matches(url) && record.hasVersion(of: head, size: length, modified: modified)
  }

  init(
    directory: any DiskDirectory, names: PartNames, durability: DownloadRequest.Durability,
    nonce: [UInt8], disk: any Disk, state: PartState, recovery: Recovery
  ) {
    self.directory = directory
    self.names = names
    self.durability = durability
    self.nonce = nonce
    bootID = disk.bootID
    creationMask = disk.creationMask
    user = disk.effectiveUser
    self.state = NIOLockedValueBox(state)
    self.recovery = recovery
  }

  /// The name of the part file.
  package var partName: String { names.part }

  /// The bytes on disk: those claimed, and those written but not yet claimed.
  package var received: ByteRangeSet {
    state.withLockedValue { state in
      state.open.reduce(into: state.claimed) { $0.insert(contentsOf: $1.range) }
    }
  }

  /// The bytes that the journal claims.
  package var claimed: ByteRangeSet { state.withLockedValue { $0.claimed } }

  /// The number of claimed bytes that no sync has made durable yet.
  package var dirtyBytes: Int64 { state.withLockedValue { $0.dirtyBytes } }

  func locked<Value>(_ body: (inout PartState) throws(TransferError) -> Value)
    throws(TransferError) -> Value
  {
    try state.withLockedValue { state in
      Result { () throws(TransferError) in try body(&state) }
    }.get()
  }
}

/// Bytes that one writer has written and not yet claimed.
struct OpenExtent {
  let writer: UInt64
  var start: Int64
  var length: Int64 = 0
  var crc = CRC32C()
  var lastClaim: Instant
  /// The end of a write in progress.
  var reserved: Int64?

  var range: ByteRange { start..<(start + length) }
  var touched: ByteRange { start..<max(start + length, reserved ?? 0) }

  var extent: Extent? {
    length > 0 ? Extent(offset: start, length: UInt32(length), crc: crc.value) : nil
  }
}

/// The state of one part file, guarded by the lock of `PartFile`.
struct PartState {
  var journal: JournalWriter
  var part: (any DiskFile)?
  var partIdentity: FileIdentity?
  var madePart = false
  let madeJournal: Bool
  /// Nil while the journal is deferred.
  var journalIdentity: FileIdentity?
  /// The longest file whose journal is deferred.
  var maximumDeferred: Int64 = 0

  var head: JournalHead?
  /// The address of the download.
  var url: ResourceURL?
  var claimed = ByteRangeSet()
  /// The number of claims of this generation, including void ones.
  var claimCount: UInt64 = 0
  var durableCount: UInt64 = 0
  /// The ranges of the claims from `durableCount` on; nil for void ones.
  var pending: [ByteRange?] = []
  var dirtyBytes: Int64 = 0
  /// The end of the last byte written; the part file is never shorter.
  var writtenEnd: Int64 = 0
  /// Extents that are being written; there are few.
  var open: [OpenExtent] = []
  /// Nil if no space is reserved: the length is unknown, or the file system does not support it.
  var space: SpaceReservation?
  /// The digest of this generation's bytes, if one was requested.
  var digest: PrefixDigest?
  var nextWriter: UInt64 = 0
  /// The position of this run's record in the journal.
  var runRecord: (offset: Int64, bytes: [UInt8])?
  /// The error of every further call.
  var failure: TransferError?
  var isPublished = false
  /// Whether the journal stays after publishing, until `removeJournal`.
  var keepsJournal = false
  /// Whether the file is published, and its journal exists and is locked.
  var isJournalKept = false
  /// The part file may have its final mode; then only the journal shows that it is Haul's.
  var hasBegunToPublish = false

  init(journal: JournalWriter, identity: FileIdentity?, madeJournal: Bool) {
    self.journal = journal
    self.madeJournal = madeJournal
    journalIdentity = identity
  }

  var isDeferred: Bool { journalIdentity == nil }

  /// - Throws: the error of every further call.
  func checkUsable() throws(TransferError) {
    if let failure { throw failure }
    if isPublished { throw TransferError(.internal, "the file has been published") }
  }

  func openPart() throws(TransferError) -> any DiskFile {
    try checkUsable()
    guard let part, head != nil else {
      throw TransferError(.internal, "the part file has not been begun")
    }
    return part
  }

  /// Appends a record. If another process has taken over, every further call fails.
  mutating func append(_ record: JournalRecord) throws(TransferError) {
    do throws(TransferError) {
      try journal.append(record)
    } catch {
      if error == .takenOverError { failure = error }
      throw error
    }
  }

  /// Appends the record with which this run takes the file.
  mutating func appendRun(_ run: JournalRun) throws(TransferError) {
    if isDeferred { return try append(.run(run)) }
    let offset = journal.nextOffset
    var crc = journal.checksumBefore
    let bytes = try JournalRecord.run(run).framed(after: &crc)
    try append(.run(run))
    runRecord = (offset, bytes)
  }

  mutating func claim(_ extent: Extent) throws(TransferError) {
    guard claimed.isDisjoint(extent.range) else {
      throw TransferError(.internal, "two segments claim the same bytes")
    }
    try append(.written([extent]))
    claimed.insert(contentsOf: extent.range)
    claimCount += 1
    pending.append(extent.range)
    dirtyBytes += extent.range.length
  }

  /// Claims the extents without a write in progress.
  mutating func claimIdle() throws(TransferError) {
    while let index = open.firstIndex(where: { $0.reserved == nil }) {
      if let closed = open[index].extent { try claim(closed) }
      open.remove(at: index)
    }
  }

  /// Notes that this many claims, from the first, are on disk.
  mutating func markDurable(_ count: UInt64) {
    guard count > durableCount else { return }
    pending.removeFirst(Int(count - durableCount))
    durableCount = count
    dirtyBytes = pending.reduce(0) { $0 + ($1?.length ?? 0) }
  }

  /// Voids all claims, because nothing shows which bytes are right. Every further call fails.
  /// - Returns: the error.
  mutating func distrust(_ error: TransferError) -> TransferError {
    // If this write fails, the next run finds most of it: it compares sizes, and reads.
    if claimCount > 0 { try? append(.void([0..<claimCount])) }
    dropPending()
    claimed = ByteRangeSet()
    failure = error
    return error
  }

  /// Forgets the claims since the last good sync.
  mutating func dropPending() {
    for range in pending { if let range { claimed.remove(contentsOf: range) } }
    pending = []
    durableCount = claimCount
    dirtyBytes = 0
    open = []
  }
}

/// Space is reserved in steps of what arrives, and given back if its bytes do not arrive.
extension PartFile {
  /// The most to reserve before a byte has arrived; files up to this length are reserved at once.
  package static let reservationStep: Int64 = 8 << 20

  /// Reserves space for a write and for the bytes after it.
  /// - Throws: `disk-full`, `io`.
  func allocate(_ range: ByteRange, of part: any DiskFile) throws(TransferError) {
    do throws(DiskError) {
      try part.allocate(range)
    } catch {
      guard [EOPNOTSUPP, ENOSYS, EINVAL].contains(error.errno) else {
        throw TransferError(error, while: "reserve \(ByteCount.text(range.length))")
      }
      state.withLockedValue { $0.space = nil }
    }
  }

  /// Gives back the space of bytes that have not arrived.
  func returnSpace() {
    // Whatever cannot be given back now, the next run gives back.
    try? locked { state throws(TransferError) in
      guard state.hasSpareSpace, let part = state.part, let identity = state.partIdentity else {
        return
      }
      // After another process has taken over, these may be its bytes.
      try checkNames(&state)
      try state.journal.checkEnd()
      try state.returnSpace(of: part)
      // If the part file is newer than its journal, the next run reads all claims back.
      if !state.isDeferred { try state.appendRun(run(of: identity)) }
    }
  }

  /// The record with which this run takes the file.
  func run(of part: FileIdentity) -> JournalRun {
    JournalRun(nonce: nonce, mountID: directory.mountID, part: part, bootID: bootID)
  }
}

extension PartState {
  fileprivate var hasSpareSpace: Bool {
    space?.mayHaveSpare == true && failure == nil && !isPublished && !hasBegunToPublish
  }

  /// Notes a write, and returns the range to reserve before it, if any.
  mutating func reserveSpace(for write: ByteRange) -> ByteRange? {
    space?.note(write, claimed: claimed, writers: open.lazy.map(\.start))
  }

  /// Under the lock, so that no write begins in a range that is given back.
  fileprivate mutating func returnSpace(of part: any DiskFile) throws(TransferError) {
    var needed = claimed
    for extent in open { needed.insert(contentsOf: extent.touched) }
    let gaps = try mapping("check the part file", needed.gaps(in: 0..<(try part.status().size)))
    for gap in gaps.ranges {
      try mapping("give space back", part.deallocate(gap))
    }
    space?.noteReturned()
  }
}

/// What an earlier run left.
extension PartFile {
  /// What the journal of an earlier run says of a target: the bytes, and the length if it is known.
  /// Nil without a journal that can be read, or once the file is published. It writes nothing and
  /// checks no byte, so it is only for showing.
  package static func claims(
    of name: String, in directory: any DiskDirectory
  ) -> (bytes: Int64, length: Int64?)? {
    guard let names = try? PartNames(name),
      let file = try? directory.open(names.journal, writing: false)
    else { return nil }
    defer { file.close() }
    guard let content = try? FileReader.contents(of: file) else { return nil }
    let replay = JournalReplay(content)
    guard replay.condition == .valid, replay.publication == nil, let head = replay.head else {
      return nil
    }
    let received = ByteRangeSet(replay.claims.filter { !$0.isVoid }.map(\.extent.range))
    return (received.byteCount, head.length)
  }

  /// The ranges of an earlier run to compare with the server's bytes. Long stretches of zeros prove
  /// nothing, so a range of zeros is moved towards the next one, by 4 MiB at most. Empty if there
  /// are only zeros.
  /// - Throws: `io`.
  package func comparisonRanges() throws(TransferError) -> [ByteRange] {
    let part = try locked { state throws(TransferError) in try state.openPart() }
    let received = recovery.received
    let candidates = ComparisonRanges.candidates(
      in: received, segmentStarts: recovery.segmentStarts)
    var ranges: [ByteRange] = []
    var hasNonZeroBytes = false
    for (number, candidate) in candidates.enumerated() {
      let next = number + 1 < candidates.count ? candidates[number + 1].lowerBound : .max
      let found = try firstNonZero(candidate, before: next, received, in: part)
      hasNonZeroBytes = hasNonZeroBytes || found != nil
      ranges.append(found ?? candidate)
    }
    return hasNonZeroBytes ? ranges : []
  }

  /// The first offset from there on with a byte other than zero.
  private func firstNonZero(
    _ first: ByteRange, before next: Int64, _ received: ByteRangeSet, in part: any DiskFile
  ) throws(TransferError) -> ByteRange? {
    guard let range = received.ranges.first(where: { $0.contains(first.lowerBound) }) else {
      return nil
    }
    let end = min(range.upperBound, max(next, first.upperBound), first.lowerBound + (4 << 20))
    var start = first.lowerBound
    while start < end {
      let candidate = start..<min(start + first.length, end)
      var isZero = true
      try FileReader.forEachBlock(of: part, in: candidate) { block in
        isZero = isZero && block.allSatisfy { $0 == 0 }
      }
      if !isZero { return candidate }
      start = candidate.upperBound
    }
    return nil
  }

  /// Records that nothing proves later bytes to be of the same version as earlier ones.
  /// - Throws: `disk-full`, `io`, `in-use`.
  package func noteMixedVersions() throws(TransferError) {
    try locked { state throws(TransferError) in
      _ = try state.openPart()
      try state.append(.unproved)
    }
  }

  /// As many of the first bytes of a whole file as there are, at most `count`.
  /// - Throws: `io`, `length-mismatch` if the file is shorter.
  package func firstBytes(_ count: Int) throws(TransferError) -> [UInt8] {
    let (part, length) = try locked { state throws(TransferError) in
      let part = try state.openPart()
      try state.claimIdle()
      return (part, state.claimed.ranges.last?.upperBound ?? 0)
    }
    var bytes: [UInt8] = []
    try FileReader.forEachBlock(of: part, in: 0..<min(length, Int64(count))) { bytes += $0 }
    return bytes
  }

  /// Whether exactly these bytes are at `offset`.
  /// - Throws: `io`, `length-mismatch` if the file is shorter.
  package func holds(_ bytes: [UInt8], at offset: Int64) throws(TransferError) -> Bool {
    let part = try locked { state throws(TransferError) in try state.openPart() }
    var position = 0
    var isSame = true
    let range = offset..<(offset + Int64(bytes.count))
    try FileReader.forEachBlock(of: part, in: range) { block in
      isSame = isSame && bytes[position..<(position + block.count)].elementsEqual(block)
      position += block.count
    }
    return isSame
  }
}
