package import HaulCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

extension PartFile {
  /// Begins a new version, which voids all earlier bytes. Creates the part file if there is none.
  /// - Parameters:
  ///   - algorithms: the digests that will be requested.
  ///   - step: the most space to reserve before a byte has arrived, if the length is known; 0 for a
  ///     small body that has arrived.
  /// - Throws: `disk-full`, `name-conflict`, `in-use`, `io`.
  package func begin(
    _ head: JournalHead, digesting algorithms: [Checksum.Algorithm] = [],
    reserving step: Int64 = PartFile.reservationStep
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
        state.space =
          step == 0 ? nil : head.length.map { SpaceReservation(length: $0, step: step) }
        return (part, !hadPart)
      }
      if !isNew { try empty(part) }
    }
  }

  /// The header comes first: from then on no old claim counts, whatever happens to the part file.
  private func startGeneration(_ head: JournalHead, _ state: inout PartState)
    throws(TransferError) -> any DiskFile
  {
    let isSmall = head.length.map { $0 <= state.maximumDeferred } == true && state.head == nil
    if !isSmall { try writeDeferredJournal(&state) }
    let (part, identity) = try openOrCreate(&state)
    // In an older journal, claims may be on disk while the header that voids them is not.
    let mayHaveClaims = !state.madeJournal || state.claimCount > 0
    try state.append(.head(head))
    state.startOver(head)
    try state.appendRun(run(of: identity))
    if mayHaveClaims && durability == .strict {
      // Otherwise a power cut could leave old claims, some of them durable, for an empty part file.
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
    if let part = state.part, let identity = state.partIdentity {
      // A process that died right after it created the file has not marked it.
      if !state.madePart { try markAsOurs(part, &state) }
      return (part, identity)
    }
    let part = try createPart()
    if state.isDeferred { try lockDeferred(part, &state) }
    try markAsOurs(part, &state)
    let status = try mapping("check the part file") { () throws(DiskError) in
      try part.status()
    }
    let identity = FileIdentity(status)
    state.part = part
    state.partIdentity = identity
    state.madePart = true
    return (part, identity)
  }

  /// Marks the part file as Haul's, in case its journal is removed or never written.
  private func markAsOurs(_ part: any DiskFile, _ state: inout PartState) throws(TransferError) {
    do throws(DiskError) {
      try part.setAttribute(FileRecord.unfinishedAttribute)
    } catch {
      // Where files have no attributes, only a journal shows that it is Haul's.
      do throws(TransferError) {
        try writeDeferredJournal(&state)
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
      // It did not exist when this run checked, so another run has started.
      throw error.errno == EEXIST
        ? JournalLock.inUse : TransferError(error, making: "the part file", in: directory)
    }
  }

  private func empty(_ part: any DiskFile) throws(TransferError) {
    try mapping("empty the part file") { () throws(DiskError) in try part.truncate(to: 0) }
  }

  /// Refuses a length that does not fit, before its body is requested. Space that the part file
  /// already has counts as free.
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
      .diskFull, "\(needed) do not fit: \(free) are free",
      advice: "free some space and run it again"
    ).with(.noRoom)
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
    writtenEnd = 0
    digest = nil
    space = nil
  }
}
