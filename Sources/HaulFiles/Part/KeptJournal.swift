package import HaulCore
import NIOConcurrencyHelpers

/// The journal of a published file, kept until the store has recorded that the file is complete. If
/// the process dies before that, the next run finds in it that this file is the wanted one, and
/// fetches nothing again.
extension PartFile {
  /// Keeps the journal, locked, when the file is published.
  package func keepJournal() { state.withLockedValue { $0.keepsJournal = true } }

  /// Removes a kept journal of a published file. Does nothing for any other.
  package func removeJournal() {
    let (isKept, journal) = state.withLockedValue { state in
      defer { state.isJournalKept = false }
      return (state.isJournalKept, state.journalIdentity)
    }
    guard isKept else { return }
    // If this fails, it remains as after a crash here.
    if let journal { try? directory.unlink(names.journal, ifStill: journal) }
    closeFiles()
  }

  /// Removes the journal of a process that died after storing that the file is complete. A journal
  /// that says anything else stays.
  /// - Throws: `in-use`, `permission-denied`, `io`.
  package static func removeKeptJournal(
    of name: String, in directory: any DiskDirectory, on disk: any Disk
  ) throws(TransferError) {
    let names = try PartNames(name)
    let (journal, final) = try mapping("check the journal") { () throws(DiskError) in
      (try directory.status(of: names.journal), try directory.status(of: name))
    }
    guard journal != nil, let final else { return }
    let lease = try JournalLease.take(names.journal, in: directory, user: disk.effectiveUser)
    defer { lease.abandon(names.journal, in: directory) }
    try mapping("remove the journal") { () throws(DiskError) in
      let replay = JournalReplay(try FileReader.contents(of: lease.file))
      guard let publication = replay.publication, publication.name == name,
        publication.part == FileIdentity(final)
      else { return }
      try directory.unlink(names.journal, ifStill: lease.identity)
    }
  }
}
