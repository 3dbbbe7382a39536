package import HaulCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

extension PartFile {
  /// Begins a new version: all earlier bytes are void. Creates the part file if there is none, and
  /// reserves its space when the length is known.
  /// - Parameters:
  ///   - algorithms: of the digests that will be requested.
  ///   - reserving: whether space is reserved; a small body that has arrived is written at once.
  /// - Throws: `disk-full` before a byte was written; `name-conflict`, `in-use`, `io`.
  package func begin(
    _ head: JournalHead, digesting algorithms: [Checksum.Algorithm] = [], reserving: Bool = true
  ) throws(TransferError) {
    try serialized { _ throws(TransferError) in
      let (part, isNew) = try locked { state throws(TransferError) in
        try state.checkUsable()
        guard state.open.allSatisfy({ $0.reserved == nil }) else {
          throw TransferError(.internal, "the part file is being written to")
        }
        let hadPart = state.part != nil
        let part = try startGeneration(head, &state)
        state.digest = algorithms.isEmpty ? nil : PrefixDigest(algorithms)
        return (part, !hadPart)
      }
      if !isNew { try empty(part) }
      if reserving { try reserve(part, length: head.length) }
    }
  }

  /// The header goes first: from then on no old claim counts, whatever happens to the part file.
  private func startGeneration(_ head: JournalHead, _ state: inout PartState)
    throws(TransferError) -> any DiskFile
  {
    let isSmall = head.length.map { $0 <= state.longestDeferred } == true && state.head == nil
    if !isSmall { try settleJournal(&state) }
    let (part, identity) = try openOrCreate(&state)
    // In an older journal, an earlier header may not be on disk yet while older claims are.
    let mayHaveClaims = !state.madeJournal || state.claimCount > 0
    try state.append(.head(head))
    state.startOver(head)
    try state.appendRun(
      JournalRun(
        nonce: nonce, mountID: directory.mountID, part: identity, bootID: bootID))
    if mayHaveClaims && durability == .strict {
      // Otherwise a power cut could leave old, partly durable claims for an empty part file.
      do throws(DiskError) {
        try state.journal.sync()
      } catch {
        let failure = TransferError(error, while: "sync the journal")
        state.failure = failure
        throw failure
      }
    }
    return part
  }

  private func openOrCreate(
    _ state: inout PartState
  ) throws(TransferError) -> (any DiskFile, FileIdentity) {
    if let part = state.part, let identity = state.partIdentity { return (part, identity) }
    let part = try createPart()
    if state.isDeferred { try lockDeferred(part, &state) }
    try mark(part, &state)
    let status = try mapping("check the part file") { () throws(DiskError) in
      try part.status()
    }
    let identity = FileIdentity(status)
    state.part = part
    state.partIdentity = identity
    state.madePart = true
    return (part, identity)
  }

  /// Marks the part file as ours, in case its journal is removed or was never written.
  private func mark(_ part: any DiskFile, _ state: inout PartState) throws(TransferError) {
    do throws(DiskError) {
      try part.setAttribute(FileRecord.mark)
    } catch {
      // Where files have no attributes, only a journal shows that it is ours.
      do throws(TransferError) {
        try settleJournal(&state)
      } catch {
        part.close()
        throw error
      }
    }
  }

  private func createPart() throws(TransferError) -> any DiskFile {
    do throws(DiskError) {
      return try directory.create(names.part)
    } catch {
      // It did not exist when this run checked: another run has started.
      throw error.errno == EEXIST
        ? JournalLease.inUse : TransferError(error, while: "make the part file")
    }
  }

  private func empty(_ part: any DiskFile) throws(TransferError) {
    try mapping("empty the part file") { () throws(DiskError) in try part.truncate(to: 0) }
  }

  private func reserve(_ part: any DiskFile, length: Int64?) throws(TransferError) {
    guard let length, length > 0 else { return }
    do throws(DiskError) {
      try part.allocate(length)
    } catch {
      if [EOPNOTSUPP, ENOSYS, EINVAL].contains(error.errno) { return }
      // Gives back the reserved space, which others may need. The first failure is reported.
      try? part.truncate(to: 0)
      throw TransferError(error, while: "reserve \(ByteCount.text(length))")
    }
  }

  /// Refuses a length that does not fit, before its body is fetched. Space that the part file
  /// already holds counts as free.
  /// - Throws: `disk-full`, `io`.
  package func ensureRoom(for length: Int64) throws(TransferError) {
    let held = try locked { state throws(TransferError) in
      try mapping("check the part file") { () throws(DiskError) in
        try state.part?.status().allocated ?? 0
      }
    }
    let available = try mapping("read the free space") { () throws(DiskError) in
      try directory.availableBytes()
    }
    guard let available, length - held > available else { return }
    let (needed, free) = ByteCount.texts(length, available + held)
    throw TransferError(
      .diskFull, "\(needed) do not fit: \(free) are free; free some space and run it again",
      cause: .noRoom)
  }
}

extension PartState {
  fileprivate mutating func startOver(_ head: JournalHead) {
    self.head = head
    claimed = ByteRangeSet()
    claimCount = 0
    durableCount = 0
    pending = []
    dirtyBytes = 0
    open = []
    digest = nil
  }
}
