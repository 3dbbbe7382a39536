import HaulCore

/// One recovery, from a locked journal to a part file that can be resumed. It may be interrupted
/// anywhere: before its last record, it only removes claims from the journal.
struct PartRecovery {
  let disk: any Disk
  let directory: any DiskDirectory
  let names: PartNames
  let nonce: [UInt8]
  let durability: DownloadRequest.Durability
  let lock: JournalLock

  func perform(_ isCancelled: () -> Bool) throws(TransferError) -> PartFile {
    let bytes = try mapping("read the journal") { () throws(DiskError) in
      try FileReader.contents(of: lock.file)
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
      journal: JournalWriter(file: lock.file, replay: replay), identity: lock.identity,
      madeJournal: lock.wasCreated)
    do throws(TransferError) {
      try state.journal.takeOver(
        Array(bytes.prefix(replay.end)), rewriting: durability == .strict)
      state.part = part?.file
      state.partIdentity = part.map { FileIdentity($0.status) }
      state.claimCount = UInt64(replay.claims.count)
      state.durableCount = state.claimCount
      var recovery = Recovery()
      recovery.wasCreated = lock.wasCreated && part == nil
      if let part, let head = replay.head {
        try resume(&state, replay, part, isCancelled)
        state.head = head
        state.space = head.length.map {
          SpaceReservation(
            length: $0, step: PartFile.reservationStep, claimed: state.claimed.byteCount,
            allocated: part.status.allocated)
        }
        recovery.head = head
        recovery.received = state.claimed
        recovery.mayMixVersions = replay.mayMixVersions
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
        "\(names.journal) is not a journal", advice: "it was left unchanged, move it away")
    case .newer:
      throw TransferError(
        .nameConflict,
        "\(names.journal) was written by a newer version of Haul",
        advice: "use that one, or move it away")
    }
  }

  /// The part file, if one exists that may be adopted.
  func adoptPart(_ replay: JournalReplay)
    throws(TransferError) -> (file: any DiskFile, status: FileStatus)?
  {
    let named = try mapping("check the part file") { () throws(DiskError) in
      try directory.status(of: names.part)
    }
    guard let named else { return nil }
    // An interrupted publish leaves the mode of the final file, which a group may be able to write.
    // For a small file it leaves no journal, so its bytes do not count.
    let published = try mapping("check the directory") { () throws(DiskError) in
      try directory.newFileMode(disk.creationMask)
    }
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
      guard try JournalLock.tryLock(file, "part file") ?? true else { throw JournalLock.inUse }
      return (file, status)
    } catch {
      file.close()
      throw error
    }
  }

  /// Checks the claims, voids the invalid ones in the journal, and takes the file.
  private func resume(
    _ state: inout PartState, _ replay: JournalReplay,
    _ part: (file: any DiskFile, status: FileStatus), _ isCancelled: () -> Bool
  ) throws(TransferError) {
    let run = JournalRun(
      nonce: nonce, mountID: directory.mountID, part: FileIdentity(part.status),
      bootID: disk.bootID)
    // If the part file changed after its journal, or in the same tick of the file system's clock,
    // it may be another file in the same inode.
    let isSameFile =
      replay.run.map { $0.isSameFile(as: run) } == true && replay.tornLength == 0
      && part.status.mode & 0o022 == 0 && part.status.changed < lock.changed
    let audit = ClaimAudit(
      replay: replay, file: part.file, size: part.status.size, trustsUnread: isSameFile,
      rewritesDoubtful: durability == .strict)
    let findings = try audit.perform(isCancelled)
    if !findings.void.isEmpty { try state.append(.void(findings.void)) }
    if part.status.mode != 0o600 {
      try mapping("protect the part file") { () throws(DiskError) in
        try part.file.setModeIfPossible(0o600)
      }
    }
    try state.appendRun(run)
    if durability == .strict {
      // Otherwise a power cut could undo the last header: older claims would hold for its bytes.
      try mapping("sync the journal") { () throws(DiskError) in try lock.file.syncData() }
    }
    state.adopt(findings, durableCount: replay.durableCount)
  }
}

extension JournalRun {
  /// True for the same boot, mount and file: then reads return what was written, synced or not.
  func isSameFile(as other: JournalRun) -> Bool {
    bootID == other.bootID && mountID == other.mountID && part == other.part
  }
}

extension PartState {
  fileprivate mutating func adopt(_ findings: ClaimAudit.Findings, durableCount: UInt64) {
    self.durableCount = durableCount
    pending = Array(findings.ranges[Int(durableCount)...])
    dirtyBytes = pending.reduce(0) { $0 + ($1?.length ?? 0) }
    for range in findings.ranges { if let range { claimed.insert(contentsOf: range) } }
    writtenEnd = claimed.ranges.last?.upperBound ?? 0
  }
}
