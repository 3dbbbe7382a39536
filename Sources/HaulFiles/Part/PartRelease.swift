package import HaulCore
import NIOConcurrencyHelpers

extension PartFile {
  /// Notes that the whole file does not have this digest; the bytes stay.
  package func reject(_ checksum: Checksum) throws(TransferError) {
    try locked { state throws(TransferError) in
      _ = try state.openPart()
      try state.append(.rejected(checksum))
    }
  }

  /// Removes part file and journal, if they are still ours, and closes them.
  /// - Throws: `permission-denied`, `io`.
  package func discard() throws(TransferError) {
    let (part, journal, wasTaken) = state.withLockedValue { state in
      defer { if state.failure == nil { state.failure = Self.released } }
      return (state.partIdentity, state.journalIdentity, state.failure == .takenOver)
    }
    defer { closeFiles() }
    guard !wasTaken else { return }
    try mapping("remove the part file") { () throws(DiskError) in
      // The part first: a part without a journal would say less than a journal without a part.
      if let part { try directory.unlink(names.part, ifStill: part) }
      if let journal { try directory.unlink(names.journal, ifStill: journal) }
    }
  }

  /// Claims what was written, closes and unlocks. If nothing was ever claimed and this run created
  /// the files, they are removed; so is a journal in which a killed run had written nothing. Every
  /// run ends with this, even a failed one; a second call does nothing.
  package func release() {
    let litter = state.withLockedValue { state -> (part: FileIdentity?, journal: FileIdentity?)? in
      guard state.failure != Self.released else { return nil }
      let wasTaken = state.failure == .takenOver
      // A name that may not be durable still needs its journal.
      let isDone = state.isPublished && state.failure == nil
      // A claim that cannot be written costs only its bytes.
      if state.failure == nil, !state.isPublished {
        try? state.claimIdle()
        if state.claimCount > 0 { try? settleJournal(&state) }
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
    if let litter {
      // If this fails, the next run takes them over.
      if let part = litter.part { try? directory.unlink(names.part, ifStill: part) }
      if let journal = litter.journal { try? directory.unlink(names.journal, ifStill: journal) }
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
