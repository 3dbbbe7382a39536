package import HaulCore
import HaulLibC
import NIOConcurrencyHelpers

extension PartFile {
  /// Takes the part file of a target, and adopts what an earlier run left.
  /// - Parameters:
  ///   - name: the final name, in `directory`.
  ///   - nonce: 16 random bytes that identify this run.
  ///   - longest: files up to this length defer their journal until something must outlive the
  ///     process; see `PartFile+Journal`.
  /// - Throws: `in-use` (another process has it), `name-conflict` (files of these names that are
  ///   not ours, or a journal of a newer version), `permission-denied`, `disk-full`, `io`,
  ///   `cancelled`.
  package static func acquire(
    disk: any Disk, directory: any DiskDirectory, name: String, nonce: [UInt8],
    durability: DownloadRequest.Durability, deferringJournalUpTo longest: Int64 = 0,
    isCancelled: () -> Bool = { false }
  ) throws(TransferError) -> PartFile {
    guard nonce.count == 16 else { throw TransferError(.internal, "a nonce has 16 bytes") }
    let names = try PartNames(name)
    if longest > 0, try isFree(names, in: directory) {
      return deferred(
        upTo: longest, disk: disk, directory: directory, names: names, nonce: nonce,
        durability: durability)
    }
    try refuseUnknownPart(names, in: directory)
    let lock = try JournalLock.take(names.journal, in: directory, user: disk.effectiveUser)
    do throws(TransferError) {
      let adoption = PartRecovery(
        disk: disk, directory: directory, names: names, nonce: nonce, durability: durability,
        lock: lock)
      return try adoption.perform(isCancelled)
    } catch {
      lock.abandon(names.journal, in: directory)
      throw error
    }
  }

  /// Refuses a part file that is not known to be ours: it has neither a journal nor our attribute.
  private static func refuseUnknownPart(
    _ names: PartNames, in directory: any DiskDirectory
  ) throws(TransferError) {
    let isNotOurs = try mapping("check the part file") { () throws(DiskError) in
      guard try directory.status(of: names.journal) == nil,
        let status = try directory.status(of: names.part), status.kind == .regular, status.size > 0
      else { return false }
      // A file that cannot be opened is refused, or reported, when it is adopted.
      guard let file = try? directory.open(names.part, writing: false) else { return false }
      defer { file.close() }
      return ((try? file.attribute()) ?? nil) == nil
    }
    guard isNotOurs else { return }
    throw TransferError(
      .nameConflict,
      "\(names.part) exists, and Haul did not create it",
      advice: "it was left unchanged, move it away")
  }

  /// As `acquire` with a deferred journal, for a target with neither journal nor part file. For any
  /// other it returns nil and changes nothing. It checks the directory and reads no file.
  package static func acquireNew(
    disk: any Disk, directory: any DiskDirectory, name: String, nonce: [UInt8],
    durability: DownloadRequest.Durability, deferringJournalUpTo longest: Int64
  ) throws(TransferError) -> PartFile? {
    let names = try PartNames(name)
    guard nonce.count == 16, longest > 0, try isFree(names, in: directory) else { return nil }
    return deferred(
      upTo: longest, disk: disk, directory: directory, names: names, nonce: nonce,
      durability: durability)
  }

  /// Begins a new version, which voids all earlier bytes. Creates the part file if there is none.
  /// - Parameters:
  ///   - algorithms: the digests that will be requested.
  ///   - step: the most space to reserve before a byte has arrived, if the length is known; 0 for a
  ///     small body that has arrived.
  /// - Throws: `disk-full`, `name-conflict`, `in-use`, `io`.
  package func begin(
    _ head: JournalHead, digesting algorithms: [Checksum.Algorithm] = [],
    reserving step: Int64 = PartFile.reservationStep
  ) throws(TransferError) {
    try serialized { _ throws(TransferError) in
      let (part, isNew) = try locked { state throws(TransferError) in
        try state.checkUsable()
        guard state.open.allSatisfy({ $0.reserved == nil }) else {
          throw TransferError(.internal, "the part file is being written to")
        }
        let hadPart = state.part != nil
        let part = try startGeneration(head, &state)
        state.digest = algorithms.isEmpty ? nil : PrefixDigest(algorithms)
        state.space =
          step == 0 ? nil : head.length.map { SpaceReservation(length: $0, step: step) }
        return (part, !hadPart)
      }
      if !isNew { try empty(part) }
    }
  }

  /// The header comes first: from then on no old claim counts, whatever happens to the part file.
  private func startGeneration(_ head: JournalHead, _ state: inout PartState)
    throws(TransferError) -> any DiskFile
  {
    let isSmall = head.length.map { $0 <= state.maximumDeferred } == true && state.head == nil
    if !isSmall { try writeDeferredJournal(&state) }
    let (part, identity) = try openOrCreate(&state)
    // In an older journal, claims may be on disk while the header that voids them is not.
    let mayHaveClaims = !state.madeJournal || state.claimCount > 0
    try state.append(.head(head))
    state.startOver(head)
    try state.appendRun(run(of: identity))
    if mayHaveClaims && durability == .strict {
      // Otherwise a power cut could leave old claims, some of them durable, for an empty part file.
      do throws(DiskError) {
        try state.journal.sync()
      } catch {
        let failure = TransferError(error, while: "sync the journal")
        state.failure = failure
        throw failure
      }
    }
    return part
  }

  private func openOrCreate(
    _ state: inout PartState
  ) throws(TransferError) -> (any DiskFile, FileIdentity) {
    if let part = state.part, let identity = state.partIdentity {
      // A process that died right after it created the file has not marked it.
      if !state.madePart { try markAsOurs(part, &state) }
      return (part, identity)
    }
    let part = try createPart()
    if state.isDeferred { try lockDeferred(part, &state) }
    try markAsOurs(part, &state)
    let status = try mapping("check the part file", part.status())
    let identity = FileIdentity(status)
    state.part = part
    state.partIdentity = identity
    state.madePart = true
    return (part, identity)
  }

  /// Marks the part file as Haul's, in case its journal is removed or never written.
  private func markAsOurs(_ part: any DiskFile, _ state: inout PartState) throws(TransferError) {
    do throws(DiskError) {
      try part.setAttribute(FileRecord.unfinishedAttribute)
    } catch {
      // Where files have no attributes, only a journal shows that it is Haul's.
      do throws(TransferError) {
        try writeDeferredJournal(&state)
      } catch {
        part.close()
        throw error
      }
    }
  }

  private func createPart() throws(TransferError) -> any DiskFile {
    do throws(DiskError) {
      return try directory.create(names.part)
    } catch {
      // It did not exist when this run checked, so another run has started.
      throw error.errno == EEXIST
        ? JournalLock.inUse : TransferError(error, making: "the part file", in: directory)
    }
  }

  private func empty(_ part: any DiskFile) throws(TransferError) {
    try mapping("empty the part file", part.truncate(to: 0))
  }

  /// Refuses a length that does not fit, before its body is requested. Space that the part file
  /// already has counts as free.
  /// - Throws: `disk-full`, `io`.
  package func ensureRoom(for length: Int64) throws(TransferError) {
    let held = try locked { state throws(TransferError) in
      try mapping("check the part file", state.part?.status().allocated ?? 0)
    }
    let available = try mapping("read the free space", directory.availableBytes())
    guard let available, length - held > available else { return }
    let (needed, free) = ByteCount.texts(length, available + held)
    throw TransferError(
      .diskFull, "\(needed) do not fit: \(free) are free",
      advice: "free some space and run it again"
    ).with(.noRoom)
  }
}

extension PartState {
  fileprivate mutating func startOver(_ head: JournalHead) {
    self.head = head
    claimed = ByteRangeSet()
    claimCount = 0
    durableCount = 0
    pending = []
    dirtyBytes = 0
    open = []
    writtenEnd = 0
    digest = nil
    space = nil
  }
}

extension PartFile {
  /// Records that the whole file does not have this digest; the bytes stay.
  package func reject(_ checksum: Checksum) throws(TransferError) {
    try locked { state throws(TransferError) in
      _ = try state.openPart()
      try state.append(.rejected(checksum))
    }
  }

  /// Removes part file and journal, if they are still this run's, and closes them.
  /// - Throws: `permission-denied`, `io`.
  package func discard() throws(TransferError) {
    let (part, journal, wasTaken) = state.withLockedValue { state in
      defer { if state.failure == nil { state.failure = Self.released } }
      return (state.partIdentity, state.journalIdentity, state.failure == .takenOverError)
    }
    defer { closeFiles() }
    guard !wasTaken else { return }
    try mapping("remove the part file") { () throws(DiskError) in
      // The part file first: a journal without a part file is clearer than a part file without a
      // journal.
      if let part { try directory.unlink(names.part, ifStill: part) }
      if let journal { try directory.unlink(names.journal, ifStill: journal) }
    }
  }

  /// Claims written bytes, gives back the space of the others, closes and unlocks. Files that this
  /// run created are removed if nothing was ever claimed; so is a journal in which a killed run
  /// wrote nothing. Every run ends with this, even a failed one; a second call has no effect.
  package func release() {
    returnSpace()
    let leftovers = state.withLockedValue {
      state -> (part: FileIdentity?, journal: FileIdentity?)? in
      guard state.failure != Self.released else { return nil }
      let wasTaken = state.failure == .takenOverError
      // A name that may not be durable still needs its journal.
      let isDone = state.isPublished && state.failure == nil
      // A failed claim loses only its bytes.
      if state.failure == nil, !state.isPublished {
        try? state.claimIdle()
        if state.claimCount > 0 { try? writeDeferredJournal(&state) }
      }
      state.failure = Self.released
      guard !wasTaken else { return nil }
      state.isJournalKept = isDone && state.keepsJournal
      if state.isPublished {
        return isDone && !state.keepsJournal ? (nil, state.journalIdentity) : nil
      }
      guard state.claimCount == 0, state.madeJournal || state.head == nil, !state.hasBegunToPublish
      else { return nil }
      return (state.madePart ? state.partIdentity : nil, state.journalIdentity)
    }
    if let leftovers {
      // If this fails, the next run takes them over.
      if let part = leftovers.part { try? directory.unlink(names.part, ifStill: part) }
      if let journal = leftovers.journal { try? directory.unlink(names.journal, ifStill: journal) }
    }
    if !state.withLockedValue({ $0.isJournalKept }) { closeFiles() }
  }

  private static let released = TransferError(.internal, "the part file has been released")

  func closeFiles() {
    let files = state.withLockedValue { ($0.part, $0.journal.file) }
    files.0?.close()
    files.1?.close()
  }

  /// Removes the files of an earlier run without writing: adopting them takes space, which a full
  /// disk does not have. Has no effect if there are none, or others.
  /// - Parameters:
  ///   - name: the final name, in `directory`.
  ///   - isOurs: whether a journal is of the wanted resource.
  /// - Throws: `in-use`, `name-conflict`, `permission-denied`, `io`.
  package static func removeLeftovers(
    of name: String, in directory: any DiskDirectory, on disk: any Disk,
    if isOurs: (JournalHead) -> Bool
  ) throws(TransferError) {
    let names = try PartNames(name)
    let hasJournal = try mapping("check the journal", directory.status(of: names.journal) != nil)
    guard hasJournal else { return }
    let lock = try JournalLock.take(names.journal, in: directory, user: disk.effectiveUser)
    defer { lock.file.close() }
    let replay = JournalReplay(
      try mapping("read the journal", FileReader.contents(of: lock.file)))
    // A file that is published, or about to be, is no leftover.
    guard replay.condition == .valid, replay.publication == nil, let head = replay.head,
      isOurs(head)
    else { return }
    let adoption = PartRecovery(
      disk: disk, directory: directory, names: names, nonce: [], durability: .relaxed, lock: lock)
    let part = try adoption.adoptPart()
    defer { part?.file.close() }
    try mapping("remove the part file") { () throws(DiskError) in
      if let part { try directory.unlink(names.part, ifStill: FileIdentity(part.status)) }
      try directory.unlink(names.journal, ifStill: lock.identity)
    }
  }
}
