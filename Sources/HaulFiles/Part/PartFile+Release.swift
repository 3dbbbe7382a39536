package import HaulCore
import NIOConcurrencyHelpers

extension PartFile {
  /// Records that the whole file does not have this digest; the bytes stay.
  package func reject(_ checksum: Checksum) throws(TransferError) {
    try locked { state throws(TransferError) in
      _ = try state.openPart()
      try state.append(.rejected(checksum))
    }
  }

  /// Removes part file and journal, if they are still this run's, and closes them.
  /// - Throws: `permission-denied`, `io`.
  package func discard() throws(TransferError) {
    let (part, journal, wasTaken) = state.withLockedValue { state in
      defer { if state.failure == nil { state.failure = Self.released } }
      return (state.partIdentity, state.journalIdentity, state.failure == .takenOverError)
    }
    defer { closeFiles() }
    guard !wasTaken else { return }
    try mapping("remove the part file") { () throws(DiskError) in
      // The part file first: a journal without a part file is clearer than a part file without a
      // journal.
      if let part { try directory.unlink(names.part, ifStill: part) }
      if let journal { try directory.unlink(names.journal, ifStill: journal) }
    }
  }

  /// Claims written bytes, gives back the space of the others, closes and unlocks. Files that this
  /// run created are removed if nothing was ever claimed; so is a journal in which a killed run
  /// wrote nothing. Every run ends with this, even a failed one; a second call has no effect.
  package func release() {
    returnSpace()
    let leftovers = state.withLockedValue {
      state -> (part: FileIdentity?, journal: FileIdentity?)? in
      guard state.failure != Self.released else { return nil }
      let wasTaken = state.failure == .takenOverError
      // A name that may not be durable still needs its journal.
      let isDone = state.isPublished && state.failure == nil
      // A failed claim loses only its bytes.
      if state.failure == nil, !state.isPublished {
        try? state.claimIdle()
        if state.claimCount > 0 { try? writeDeferredJournal(&state) }
      }
      state.failure = Self.released
      guard !wasTaken else { return nil }
      state.isJournalKept = isDone && state.keepsJournal
      if state.isPublished {
        return isDone && !state.keepsJournal ? (nil, state.journalIdentity) : nil
      }
      guard state.claimCount == 0, state.madeJournal || state.head == nil, !state.hasBegunToPublish
      else { return nil }
      return (state.madePart ? state.partIdentity : nil, state.journalIdentity)
    }
    if let leftovers {
      // If this fails, the next run takes them over.
      if let part = leftovers.part { try? directory.unlink(names.part, ifStill: part) }
      if let journal = leftovers.journal { try? directory.unlink(names.journal, ifStill: journal) }
    }
    if !state.withLockedValue({ $0.isJournalKept }) { closeFiles() }
  }

  private static let released = TransferError(.internal, "the part file has been released")

  func closeFiles() {
    let files = state.withLockedValue { ($0.part, $0.journal.file) }
    files.0?.close()
    files.1?.close()
  }
}
