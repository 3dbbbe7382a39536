package import HaulCore
import NIOConcurrencyHelpers

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
    let (journal, final) = try mapping("check the journal") { () throws(DiskError) in
      (try directory.status(of: names.journal), try directory.status(of: name))
    }
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
