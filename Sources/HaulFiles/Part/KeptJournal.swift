package import HaulCore
import NIOConcurrencyHelpers

/// The journal of a file that has its name, kept until somebody else has stored that it is
/// complete: when the process dies before, the next run reads there that this very file is what was
/// to be made, and nothing is fetched again.
extension PartFile {
  /// Has the journal stay, and stay locked, when the file has its name.
  package func keepJournal() { state.withLockedValue { $0.keepsJournal = true } }

  /// Removes a journal that was kept; the end of a part file that was published. Does nothing for
  /// any other.
  package func removeJournal() {
    let (isKept, journal) = state.withLockedValue { state in
      defer { state.isJournalKept = false }
      return (state.isJournalKept, state.journalIdentity)
    }
    guard isKept else { return }
    // Litter at worst, as after a crash here.
    if let journal { try? directory.unlink(names.journal, ifStill: journal) }
    closeFiles()
  }

  /// Removes the journal that a process left which died after it was stored that the file is
  /// complete. One that says anything else stays.
  /// - Throws: `in-use`, `permission-denied`, `io`.
  package static func removeKeptJournal(
    of name: String, in directory: any DiskDirectory, on disk: any Disk
  ) throws(TransferError) {
    let names = try PartNames(name)
    let (journal, final) = try mapping("look at the journal") { () throws(DiskError) in
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
