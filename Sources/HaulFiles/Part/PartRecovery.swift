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
    let bytes = try mapping("read the journal", FileReader.contents(of: lock.file))
    let replay = JournalReplay(bytes)
    try refuseForeign(replay)
    try removePlaceholder(replay)
    if let publication = replay.publication,
      try isPublished(publication, replay, isCancelled)
    {
      return make(published(publication, replay))
    }
    let part = try adoptPart()
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
  func adoptPart()
    throws(TransferError) -> (file: any DiskFile, status: FileStatus)?
  {
    let named = try mapping("check the part file", directory.status(of: names.part))
    guard let named else { return nil }
    // An interrupted publish leaves the mode of the final file, which a group may be able to write,
    // and if it replaces a file, as the superuser, the owner. For a small file it leaves no
    // journal, so its bytes do not count.
    let (modes, owner) = try mapping("check the directory") {
      () throws(DiskError) -> ([UInt32], UInt32?) in
      let new = try directory.newFileMode(disk.creationMask)
      guard let former = try directory.status(of: names.name), former.kind == .regular,
        try !directory.mayBePlanted(former, disk.effectiveUser)
      else { return ([new], nil) }
      return ([new, former.mode & 0o777], disk.effectiveUser == 0 ? former.owner : nil)
    }
    try Ownership.check(
      named, user: disk.effectiveUser, orOwner: owner, modes: modes, what: "part file")
    let file = try mapping("open the part file", directory.open(names.part, writing: true))
    do throws(TransferError) {
      let status = try mapping("check the part file", file.status())
      try Ownership.check(
        status, user: disk.effectiveUser, orOwner: owner, modes: modes, what: "part file")
      // A run with a deferred journal holds this lock.
      guard try JournalLock.tryLock(file, "part file") ?? true else { throw JournalLock.inUse }
      if status.owner != disk.effectiveUser {
        try mapping("take the part file", file.setOwner(disk.effectiveUser))
      }
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
      try mapping("protect the part file", part.file.setModeIfPossible(0o600))
    }
    try state.appendRun(run)
    if durability == .strict {
      // Otherwise a power cut could undo the last header: older claims would hold for its bytes.
      try mapping("sync the journal", lock.file.syncData())
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

/// Finishes a publish that a crash interrupted.
extension PartRecovery {
  /// Whether the whole file has its final name. Finishes an interrupted publish by link.
  func isPublished(
    _ publication: Publication, _ replay: JournalReplay, _ isCancelled: () -> Bool
  ) throws(TransferError) -> Bool {
    let (part, final) = try mapping(
      "check the target",
      (try directory.status(of: names.part), try directory.status(of: publication.name)))
    guard let final, final.kind == .regular, final.size == publication.length else { return false }
    if let part {
      guard FileIdentity(part) == FileIdentity(final), part.owner == disk.effectiveUser else {
        return false
      }
    }
    guard try hasContent(publication, replay, isCancelled) else { return false }
    if durability == .strict { try syncFinal(publication.name) }
    if part != nil {
      try mapping(
        "remove the part file", directory.unlink(names.part, ifStill: FileIdentity(final)))
      if durability == .strict { try syncDirectory() }
    }
    return true
  }

  /// Reads the whole file, because an inode may be reused. This is cheap, since such crashes are
  /// rare.
  private func hasContent(
    _ publication: Publication, _ replay: JournalReplay, _ isCancelled: () -> Bool
  ) throws(TransferError) -> Bool {
    let claims = replay.claims.filter { !$0.isVoid }.map(\.extent)
    let covered = claims.reduce(into: ByteRangeSet()) { $0.insert(contentsOf: $1.range) }
    guard covered.covers(0..<publication.length) else { return false }
    let file = try mapping("open the target", directory.open(publication.name, writing: false))
    defer { file.close() }
    for extent in claims where extent.offset < publication.length {
      if isCancelled() { throw TransferError(.cancelled, "cancelled while reading the file") }
      guard try ClaimReader.matches(extent, in: file) else { return false }
    }
    return true
  }

  private func syncFinal(_ name: String) throws(TransferError) {
    try mapping("sync the file") { () throws(DiskError) in
      let file = try directory.open(name, writing: false)
      defer { file.close() }
      try file.sync()
    }
    try syncDirectory()
  }

  private func syncDirectory() throws(TransferError) {
    try mapping("sync the directory", directory.syncIfPossible())
  }

  func published(_ publication: Publication, _ replay: JournalReplay) -> (PartState, Recovery) {
    var state = PartState(
      journal: JournalWriter(file: lock.file, replay: replay), identity: lock.identity,
      madeJournal: lock.wasCreated)
    state.isPublished = true
    var recovery = Recovery()
    recovery.head = replay.head
    recovery.received = ByteRangeSet(0..<publication.length)
    recovery.rejected = replay.rejected
    recovery.published = true
    recovery.publishedName = publication.name
    recovery.publishedLength = publication.length
    return (state, recovery)
  }

  /// Removes the empty file that held the final name during a publish.
  func removePlaceholder(_ replay: JournalReplay) throws(TransferError) {
    guard let placeholder = replay.placeholder, let name = replay.publication?.name,
      let run = replay.run, run.bootID == disk.bootID, run.mountID == directory.mountID
    else { return }
    try mapping("remove the placeholder of the target") { () throws(DiskError) in
      guard let status = try directory.status(of: name), status.kind == .regular,
        status.size == 0, FileIdentity(status) == placeholder
      else { return }
      try directory.unlink(name)
    }
  }
}
