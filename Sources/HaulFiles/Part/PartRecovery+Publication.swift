import HaulCore

/// Finishes a publish that a crash interrupted.
extension PartRecovery {
  /// Whether the whole file has its final name. Finishes an interrupted publish by link.
  func isPublished(
    _ publication: Publication, _ replay: JournalReplay, _ isCancelled: () -> Bool
  ) throws(TransferError) -> Bool {
    let (part, final) = try mapping("check the target") { () throws(DiskError) in
      (try directory.status(of: names.part), try directory.status(of: publication.name))
    }
    guard let final, final.kind == .regular, final.size == publication.length else { return false }
    if let part {
      guard FileIdentity(part) == FileIdentity(final), part.owner == disk.effectiveUser else {
        return false
      }
    }
    guard try hasContent(publication, replay, isCancelled) else { return false }
    if durability == .strict { try syncFinal(publication.name) }
    if part != nil {
      try mapping("remove the part file") { () throws(DiskError) in
        try directory.unlink(names.part, ifStill: FileIdentity(final))
      }
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
    let file = try mapping("open the target") { () throws(DiskError) in
      try directory.open(publication.name, writing: false)
    }
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
    try mapping("sync the directory") { () throws(DiskError) in try directory.syncIfPossible() }
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
