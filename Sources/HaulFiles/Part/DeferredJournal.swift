import HaulCore
import NIOConcurrencyHelpers

/// Small files with one request each, which lose little without a journal.
///
/// If neither journal nor part file exists, no journal is created: its records stay in memory. The
/// part file is created with `O_EXCL` and locked, which keeps other processes away as a journal
/// does. A whole file is published in one step, without a journal on disk. A crash before that
/// costs these few bytes: a part file without a journal counts for nothing. Whatever must outlive
/// the process (a pause, a failure, a checksum mismatch) or cannot be done in one step first writes
/// the journal with all its records.
extension PartFile {
  /// Whether it can share the at most two syncs of its end with others: it is small and has no
  /// journal.
  package var isDeferred: Bool { state.withLockedValue { $0.isDeferred && $0.head != nil } }

  /// Whether its end needs no sync.
  package var endsWithoutSync: Bool { durability == .relaxed && isDeferred }

  static func isFree(_ names: PartNames, in directory: any DiskDirectory)
    throws(TransferError) -> Bool
  {
    let isFree = try mapping("check the part file") { () throws(DiskError) in
      if try directory.status(of: names.journal) != nil { return false }
      return try directory.status(of: names.part) == nil
    }
    // Reported before any network request, as creating the journal would report it.
    if isFree {
      try mapping("make the part file") { () throws(DiskError) in try directory.checkWritable() }
    }
    return isFree
  }

  static func deferred(
    upTo longest: Int64, disk: any Disk, directory: any DiskDirectory, names: PartNames,
    nonce: [UInt8], durability: DownloadRequest.Durability
  ) -> PartFile {
    var state = PartState(journal: JournalWriter(), identity: nil, madeJournal: true)
    state.longestDeferred = longest
    var recovery = Recovery()
    recovery.wasCreated = true
    return PartFile(
      directory: directory, names: names, durability: durability, nonce: nonce, disk: disk,
      state: state, recovery: recovery)
  }

  /// Writes the deferred journal with all its records.
  /// - Throws: `in-use` when another process has created one meanwhile; `disk-full`, `io`.
  func settleJournal(_ state: inout PartState) throws(TransferError) {
    guard state.isDeferred else { return }
    let lease = try JournalLease.take(names.journal, in: directory, user: user)
    do throws(TransferError) {
      guard lease.wasCreated else { throw JournalLease.inUse }
      let run = try state.journal.settle(in: lease.file)
      if let run { state.runRecord = run }
      state.journalIdentity = lease.identity
    } catch {
      lease.abandon(names.journal, in: directory)
      throw error
    }
  }

  /// Keeps others away from a part file without a journal; where files cannot be locked, only a
  /// journal does that.
  func lockDeferred(_ part: any DiskFile, _ state: inout PartState) throws(TransferError) {
    do throws(TransferError) {
      guard let isOurs = try JournalLease.tryLock(part, "part file") else {
        return try settleJournal(&state)
      }
      guard isOurs else { throw JournalLease.inUse }
    } catch {
      part.close()
      throw error
    }
  }

  /// A publish in several steps needs the journal: after a crash it tells what was intended.
  func settleBeforeLinking() throws(TransferError) {
    let wasDeferred = try locked { state throws(TransferError) in
      let wasDeferred = state.isDeferred
      try settleJournal(&state)
      return wasDeferred
    }
    guard wasDeferred, durability == .strict else { return }
    try syncJournal()
    try sync("directory") { () throws(DiskError) in try directory.sync() }
  }
}
