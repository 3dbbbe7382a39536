package import HaulCore
import NIOConcurrencyHelpers

/// Small files with one request each, which lose little without a journal.
///
/// If neither journal nor part file exists, the records stay in memory. The part file is created
/// with `O_EXCL` and locked, which keeps other processes away as a journal does. The whole file is
/// published in one step. A crash before that loses its few bytes, because a part file without a
/// journal does not count. The journal is written with all its records before anything that must
/// outlive the process: a pause, a failure, a checksum mismatch, or a publish in several steps.
extension PartFile {
  /// Whether it can share its final syncs, two at most, with others: it is small and has no
  /// journal.
  package var isDeferred: Bool { state.withLockedValue { $0.isDeferred && $0.head != nil } }

  /// Whether it ends without a sync.
  package var endsWithoutSync: Bool { durability == .relaxed && isDeferred }

  static func isFree(_ names: PartNames, in directory: any DiskDirectory)
    throws(TransferError) -> Bool
  {
    let isFree = try mapping("check the part file") { () throws(DiskError) in
      if try directory.status(of: names.journal) != nil { return false }
      return try directory.status(of: names.part) == nil
    }
    // Reported before any network request, as if the journal were created.
    if isFree {
      try mapping("make the part file", directory.checkWritable())
    }
    return isFree
  }

  static func deferred(
    upTo longest: Int64, disk: any Disk, directory: any DiskDirectory, names: PartNames,
    nonce: [UInt8], durability: DownloadRequest.Durability
  ) -> PartFile {
    var state = PartState(journal: JournalWriter(), identity: nil, madeJournal: true)
    state.maximumDeferred = longest
    var recovery = Recovery()
    recovery.wasCreated = true
    return PartFile(
      directory: directory, names: names, durability: durability, nonce: nonce, disk: disk,
      state: state, recovery: recovery)
  }

  /// Writes the deferred journal with all its records.
  /// - Throws: `in-use` if another process has created one meanwhile; `disk-full`, `io`.
  func writeDeferredJournal(_ state: inout PartState) throws(TransferError) {
    guard state.isDeferred else { return }
    let lock = try JournalLock.take(names.journal, in: directory, user: user)
    do throws(TransferError) {
      guard lock.wasCreated else { throw JournalLock.inUse }
      let run = try state.journal.writeKeptRecords(in: lock.file)
      if let run { state.runRecord = run }
      state.journalIdentity = lock.identity
    } catch {
      lock.abandon(names.journal, in: directory)
      throw error
    }
  }

  /// Keeps other processes away from a part file without a journal. Where files cannot be locked,
  /// only a journal does that.
  func lockDeferred(_ part: any DiskFile, _ state: inout PartState) throws(TransferError) {
    do throws(TransferError) {
      guard let isOurs = try JournalLock.tryLock(part, "part file") else {
        return try writeDeferredJournal(&state)
      }
      guard isOurs else { throw JournalLock.inUse }
    } catch {
      part.close()
      throw error
    }
  }

  /// A publish in several steps needs the journal, which shows the intent after a crash.
  func writeJournalBeforeLinking() throws(TransferError) {
    let wasDeferred = try locked { state throws(TransferError) in
      let wasDeferred = state.isDeferred
      try writeDeferredJournal(&state)
      return wasDeferred
    }
    guard wasDeferred, durability == .strict else { return }
    try syncJournal()
    try sync("directory") { () throws(DiskError) in try directory.syncIfPossible() }
  }
}

/// The journal of a published file, kept until the store has recorded that the file is complete. If
/// the process dies before that, the next run finds in it that this file is complete, and downloads
/// nothing.
extension PartFile {
  /// Keeps the journal, locked, when the file is published.
  package func keepJournal() { state.withLockedValue { $0.keepsJournal = true } }

  /// Removes a kept journal of a published file; has no effect on any other.
  package func removeJournal() {
    let (isKept, journal) = state.withLockedValue { state in
      defer { state.isJournalKept = false }
      return (state.isJournalKept, state.journalIdentity)
    }
    guard isKept else { return }
    // If this fails, the journal remains, as after a crash at this point.
    if let journal { try? directory.unlink(names.journal, ifStill: journal) }
    closeFiles()
  }

  /// Removes the journal that remains if a process dies after storing that the file is complete.
  /// Any other journal stays.
  /// - Throws: `in-use`, `permission-denied`, `io`.
  package static func removeKeptJournal(
    of name: String, in directory: any DiskDirectory, on disk: any Disk
  ) throws(TransferError) {
    let names = try PartNames(name)
    let (journal, final) = try mapping(
      "check the journal", (try directory.status(of: names.journal), try directory.status(of: name))
    )
    guard journal != nil, let final else { return }
    let lock = try JournalLock.take(names.journal, in: directory, user: disk.effectiveUser)
    defer { lock.abandon(names.journal, in: directory) }
    try mapping("remove the journal") { () throws(DiskError) in
      let replay = JournalReplay(try FileReader.contents(of: lock.file))
      guard let publication = replay.publication, publication.name == name,
        publication.part == FileIdentity(final)
      else { return }
      try directory.unlink(names.journal, ifStill: lock.identity)
    }
  }
}
