package import HaulCore

extension PartFile {
  /// Takes the part file of a target, and adopts what an earlier run left.
  /// - Parameters:
  ///   - name: the final name, in `directory`.
  ///   - nonce: 16 random bytes that identify this run.
  ///   - longest: files up to this length defer their journal until something must outlive the
  ///     process; see `DeferredJournal`.
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
    try refuseStrangePart(names, in: directory)
    let lease = try JournalLease.take(names.journal, in: directory, user: disk.effectiveUser)
    do throws(TransferError) {
      let adoption = PartRecovery(
        disk: disk, directory: directory, names: names, nonce: nonce, durability: durability,
        lease: lease)
      return try adoption.perform(isCancelled)
    } catch {
      lease.abandon(names.journal, in: directory)
      throw error
    }
  }

  /// Refuses a part file that is not known to be ours: it has neither a journal nor our attribute.
  private static func refuseStrangePart(
    _ names: PartNames, in directory: any DiskDirectory
  ) throws(TransferError) {
    let isStrange = try mapping("check the part file") { () throws(DiskError) in
      guard try directory.status(of: names.journal) == nil,
        let status = try directory.status(of: names.part), status.kind == .regular, status.size > 0
      else { return false }
      // A file that cannot be opened is refused, or reported, when it is adopted.
      guard let file = try? directory.open(names.part, writing: false) else { return false }
      defer { file.close() }
      return ((try? file.attribute()) ?? nil) == nil
    }
    guard isStrange else { return }
    throw TransferError(
      .nameConflict,
      "\(names.part) exists, and Haul did not create it; it was left unchanged, move it away")
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
}

/// One recovery: from a locked journal to a part file that can be resumed. It may be interrupted
/// anywhere: until its last record, it only removes claims from the journal.
struct PartRecovery {
  let disk: any Disk
  let directory: any DiskDirectory
  let names: PartNames
  let nonce: [UInt8]
  let durability: DownloadRequest.Durability
  let lease: JournalLease

  func perform(_ isCancelled: () -> Bool) throws(TransferError) -> PartFile {
    let bytes = try mapping("read the journal") { () throws(DiskError) in
      try FileReader.contents(of: lease.file)
    }
    let replay = JournalReplay(bytes)
    try refuseForeign(replay)
    try removePlaceholder(replay)
    if let publication = replay.publication,
      try isPublished(publication, replay, isCancelled)
    {
      return make(published(publication, replay))
    }
    let part = try adoptPart(replay)
    var state = PartState(
      journal: JournalWriter(file: lease.file, replay: replay), identity: lease.identity,
      madeJournal: lease.wasCreated)
    do throws(TransferError) {
      try state.journal.takeOver(
        Array(bytes.prefix(replay.end)), rewriting: durability == .strict)
      state.part = part?.file
      state.partIdentity = part.map { FileIdentity($0.status) }
      state.claimCount = UInt64(replay.claims.count)
      state.durableCount = state.claimCount
      var recovery = Recovery()
      recovery.wasCreated = lease.wasCreated && part == nil
      if let part, let head = replay.head {
        try resume(&state, replay, part, isCancelled)
        state.head = head
        recovery.head = head
        recovery.received = state.claimed
        recovery.isUnproved = replay.isUnproved
        recovery.segmentStarts = replay.segmentStarts
        recovery.rejected = replay.rejected
      }
      return make((state, recovery))
    } catch {
      part?.file.close()
      throw error
    }
  }

  private func make(_ result: (state: PartState, recovery: Recovery)) -> PartFile {
    PartFile(
      directory: directory, names: names, durability: durability, nonce: nonce, disk: disk,
      state: result.state, recovery: result.recovery)
  }

  private func refuseForeign(_ replay: JournalReplay) throws(TransferError) {
    switch replay.condition {
    case .empty, .valid: return
    case .foreign:
      throw TransferError(
        .nameConflict,
        "\(names.journal) is not a journal; it was left unchanged, move it away")
    case .newer:
      throw TransferError(
        .nameConflict,
        "\(names.journal) was written by a newer version of Haul; use that one, or move it away")
    }
  }

  /// The part file, if there is one that may be adopted.
  func adoptPart(_ replay: JournalReplay)
    throws(TransferError) -> (file: any DiskFile, status: FileStatus)?
  {
    // An interrupted publish leaves the mode of the final file, which a group may be able to write.
    // That of a small file leaves no journal: nothing of it counts then.
    let published = 0o666 & ~disk.creationMask
    let named = try mapping("check the part file") { () throws(DiskError) in
      try directory.status(of: names.part)
    }
    guard let named else { return nil }
    try Ownership.check(named, user: disk.effectiveUser, mode: published, what: "part file")
    let file = try mapping("open the part file") { () throws(DiskError) in
      try directory.open(names.part, writing: true)
    }
    do throws(TransferError) {
      let status = try mapping("check the part file") { () throws(DiskError) in
        try file.status()
      }
      try Ownership.check(status, user: disk.effectiveUser, mode: published, what: "part file")
      // A run with a deferred journal holds this lock.
      guard try JournalLease.tryLock(file, "part file") ?? true else { throw JournalLease.inUse }
      return (file, status)
    } catch {
      file.close()
      throw error
    }
  }

  /// Decides which claims are valid, voids the others in the journal, and takes the file.
  private func resume(
    _ state: inout PartState, _ replay: JournalReplay,
    _ part: (file: any DiskFile, status: FileStatus), _ isCancelled: () -> Bool
  ) throws(TransferError) {
    let run = JournalRun(
      nonce: nonce, mountID: directory.mountID, part: FileIdentity(part.status),
      bootID: disk.bootID)
    // A part that changed after its journal, or in the same tick of the file system's clock, may be
    // another file in the same inode.
    let isSamePlace =
      replay.run.map { $0.isSamePlace(as: run) } == true && replay.tornLength == 0
      && part.status.mode & 0o022 == 0 && part.status.changed < lease.changed
    let audit = ClaimAudit(
      replay: replay, file: part.file, size: part.status.size, trustsUnread: isSamePlace,
      rewritesDoubtful: durability == .strict)
    let verdict = try audit.perform(isCancelled)
    if !verdict.void.isEmpty { try state.append(.void(verdict.void)) }
    if part.status.mode != 0o600 {
      try mapping("protect the part file") { () throws(DiskError) in try part.file.setMode(0o600) }
    }
    try state.appendRun(run)
    if durability == .strict {
      // Otherwise a power cut could undo this header and leave older claims for bytes of this one.
      try mapping("sync the journal") { () throws(DiskError) in try lease.file.syncData() }
    }
    state.adopt(verdict, durableCount: replay.durableCount)
  }
}

extension JournalRun {
  /// Same boot, mount and file: reads return what was written, synced or not.
  func isSamePlace(as other: JournalRun) -> Bool {
    bootID == other.bootID && mountID == other.mountID && part == other.part
  }
}

extension PartState {
  fileprivate mutating func adopt(_ verdict: ClaimAudit.Verdict, durableCount: UInt64) {
    self.durableCount = durableCount
    pending = Array(verdict.ranges[Int(durableCount)...])
    dirtyBytes = pending.reduce(0) { $0 + ($1?.length ?? 0) }
    for range in verdict.ranges { if let range { claimed.insert(contentsOf: range) } }
  }
}
