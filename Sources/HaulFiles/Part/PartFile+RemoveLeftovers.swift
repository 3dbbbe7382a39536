package import HaulCore

extension PartFile {
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
    let hasJournal = try mapping("check the journal") { () throws(DiskError) in
      try directory.status(of: names.journal) != nil
    }
    guard hasJournal else { return }
    let lock = try JournalLock.take(names.journal, in: directory, user: disk.effectiveUser)
    defer { lock.file.close() }
    let replay = JournalReplay(
      try mapping("read the journal") { () throws(DiskError) in
        try FileReader.contents(of: lock.file)
      })
    // A file that is published, or about to be, is no leftover.
    guard replay.condition == .valid, replay.publication == nil, let head = replay.head,
      isOurs(head)
    else { return }
    let adoption = PartRecovery(
      disk: disk, directory: directory, names: names, nonce: [], durability: .relaxed, lock: lock)
    let part = try adoption.adoptPart(replay)
    defer { part?.file.close() }
    try mapping("remove the part file") { () throws(DiskError) in
      if let part { try directory.unlink(names.part, ifStill: FileIdentity(part.status)) }
      try directory.unlink(names.journal, ifStill: lock.identity)
    }
  }
}
