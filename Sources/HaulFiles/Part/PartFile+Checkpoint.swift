package import HaulCore
import NIOConcurrencyHelpers

extension PartFile {
  /// Claims the written bytes and, if strict, makes them durable: after this returns, a power cut
  /// loses none of them. Has no effect before the first byte and after publishing.
  /// - Parameter isLast: whether the run ends with it; then it first gives back the space of bytes
  ///   that have not arrived.
  /// - Throws: `in-use` if another process has taken over. `io` if the sync failed: claims since
  ///   the last good sync are void, and this part file must be released.
  package func checkpoint(isLast: Bool = false) throws(TransferError) {
    if isLast { returnSpace() }
    try serialized { namesAreDurable throws(TransferError) in
      let dirty: (part: any DiskFile, count: UInt64)? = try locked { state throws(TransferError) in
        if state.isPublished { return nil }
        try state.checkUsable()
        if state.head == nil { return nil }
        let part = try state.openPart()
        try state.claimIdle()
        if state.claimCount > 0 { try writeDeferredJournal(&state) }
        return state.claimCount > state.durableCount ? (part, state.claimCount) : nil
      }
      guard durability == .strict, let (part, count) = dirty else { return }
      try verifyStillOurs()
      try makeDurable(part, count, whole: false, &namesAreDurable)
    }
  }

  /// One call at a time: the kernel reports a failed write-back to one caller only.
  func serialized<Value>(_ body: (inout Bool) throws(TransferError) -> Value)
    throws(TransferError) -> Value
  {
    try syncLock.withLockedValue { namesAreDurable in
      Result { () throws(TransferError) in try body(&namesAreDurable) }
    }.get()
  }

  /// Syncs the data, then the names; then writes the record about them and syncs the journal.
  func makeDurable(
    _ part: any DiskFile, _ count: UInt64, whole: Bool, _ namesAreDurable: inout Bool
  ) throws(TransferError) {
    try locked { state throws(TransferError) in try state.append(.syncing(count)) }
    try syncPart(part, dataOnly: !whole)
    if !namesAreDurable {
      try sync("directory") { () throws(DiskError) in try directory.syncIfPossible() }
      namesAreDurable = true
    }
    try locked { state throws(TransferError) in try state.append(.durable(count)) }
    try syncJournal()
    state.withLockedValue { $0.markDurable(count) }
  }

  func syncPart(_ part: any DiskFile, dataOnly: Bool = false) throws(TransferError) {
    do throws(DiskError) {
      if dataOnly { try part.syncData() } else { try part.sync() }
    } catch {
      throw afterFailedSync(TransferError(error, while: "sync the part file"))
    }
  }

  func syncJournal() throws(TransferError) {
    let journal = state.withLockedValue { $0.journal }
    try sync("journal") { () throws(DiskError) in try journal.sync() }
  }

  /// After a failed sync there is no retry: this part file cannot be used any more.
  func sync(_ what: String, _ body: () throws(DiskError) -> Void) throws(TransferError) {
    do throws(DiskError) {
      try body()
    } catch {
      let failure = TransferError(error, while: "sync the \(what)")
      state.withLockedValue { $0.failure = failure }
      throw failure
    }
  }

  /// The kernel may have dropped pages that it could not write, and marked them clean. So claims
  /// since the last good sync are lost, even if their bytes can still be read.
  private func afterFailedSync(_ failure: TransferError) -> TransferError {
    state.withLockedValue { state in
      // If this write fails too, the open `syncing` record makes the next run read and rewrite
      // those bytes, so nothing durable is lost.
      try? state.append(.void([state.durableCount..<state.claimCount]))
      state.dropPending()
      state.failure = failure
      return failure
    }
  }

  /// Reads this run's record again, by the name of the journal, because locks do not work
  /// everywhere.
  /// - Throws: `in-use`, `io`.
  func verifyStillOurs() throws(TransferError) {
    try locked { state throws(TransferError) in
      do throws(TransferError) {
        try checkNames(&state)
        try state.journal.checkEnd()
      } catch {
        state.failure = error
        throw error
      }
    }
  }

  func checkNames(_ state: inout PartState) throws(TransferError) {
    let hasPart = try mapping("check the part file") { () throws(DiskError) in
      try state.partIdentity.map { identity throws(DiskError) in
        try directory.has(identity, as: names.part)
      } == true
    }
    guard let journalIdentity = state.journalIdentity else {
      if hasPart { return }
      throw removed("part file")
    }
    let (exists, isOurs) = try mapping("check the journal") { () throws(DiskError) in
      (
        try directory.status(of: names.journal) != nil,
        try directory.has(journalIdentity, as: names.journal)
      )
    }
    guard exists else { throw removed("journal") }
    guard isOurs else { throw .takenOverError }
    guard hasPart else { throw removed("part file") }
    guard let record = state.runRecord,
      try readAgain(record.offset, record.bytes.count) == record.bytes
    else { throw .takenOverError }
  }

  private func readAgain(_ offset: Int64, _ count: Int) throws(TransferError) -> [UInt8] {
    let file = try mapping("open the journal") { () throws(DiskError) in
      try directory.open(names.journal, writing: false)
    }
    defer { file.close() }
    var bytes: [UInt8] = []
    let size = try mapping("check the journal") { () throws(DiskError) in
      try file.status().size
    }
    guard size >= offset + Int64(count) else { return [] }
    try FileReader.forEachBlock(of: file, in: offset..<(offset + Int64(count))) { bytes += $0 }
    return bytes
  }

  /// The error for a file that was removed.
  func removed(_ what: String) -> TransferError {
    let directoryIsGone = (try? directory.status().links) == 0  // on failure: no
    return directoryIsGone
      ? TransferError(
        .io, "the target's directory was removed", advice: "the received bytes are lost")
      : TransferError(
        .io, "the \(what) was removed or replaced by another program", advice: "run it again")
  }
}
