package import HaulCore
import NIOConcurrencyHelpers

/// One segment's position in the file; a segment is consecutive. The part file keeps written,
/// unclaimed bytes, so dropping a writer loses nothing.
package struct ExtentWriter: Hashable, Sendable {
  let number: UInt64
  /// The offset of the next byte.
  package fileprivate(set) var offset: Int64
}

extension PartFile {
  /// The longest time from a write to its claim, while bytes arrive.
  package static let claimInterval: Duration = .milliseconds(250)

  /// A writer that begins at `offset`.
  package func writer(at offset: Int64, now: Instant) throws(TransferError) -> ExtentWriter {
    try locked { state throws(TransferError) in
      _ = try state.openPart()
      defer { state.nextWriter += 1 }
      state.open.append(OpenExtent(writer: state.nextWriter, start: offset, lastClaim: now))
      return ExtentWriter(number: state.nextWriter, offset: offset)
    }
  }

  /// Writes the writer's next bytes. Claims them 1 MiB at a time, or after 250 ms.
  /// - Throws: `disk-full`, `io`, `in-use`; `length-mismatch` beyond the announced length;
  ///   `internal` if another segment wrote there. Bytes written before the failure are kept.
  package func write(
    _ chunks: [any ByteChunk], with writer: inout ExtentWriter, now: Instant
  ) throws(TransferError) {
    let total = chunks.reduce(0) { $0 + Int64($1.count) }
    guard total > 0 else { return }
    var (part, extent, digest, space) = try reserve(total, for: writer, now: now)
    defer {
      extent.reserved = nil
      let written = writer.offset..<extent.range.upperBound
      writer.offset = written.upperBound
      state.withLockedValue { [extent] in
        $0.store(extent, of: writer)
        if !written.isEmpty { $0.writtenEnd = max($0.writtenEnd, written.upperBound) }
      }
    }
    if let space { try allocate(space, of: part) }
    for chunk in chunks {
      try chunk.withBytes { bytes in
        Result { () throws(TransferError) in
          try put(bytes, to: part, &extent, digest, now: now)
        }
      }.get()
    }
    if now - extent.lastClaim >= Self.claimInterval { try close(&extent, of: part, now: now) }
  }

  /// Claims the writer's last bytes, at a segment's end or a pause. The writer may continue.
  package func claim(_ writer: inout ExtentWriter) throws(TransferError) {
    try locked { [writer] state throws(TransferError) in
      try state.checkUsable()
      guard var extent = state.open[writer], extent.reserved == nil,
        let closed = extent.extent
      else { return }
      try state.claim(closed)
      extent.restart()
      state.open[writer] = extent
    }
  }

  /// Reserves the range for a write, unless another segment wrote there.
  /// - Returns: also the range whose space is to be reserved.
  private func reserve(_ count: Int64, for writer: ExtentWriter, now: Instant)
    throws(TransferError) -> (any DiskFile, OpenExtent, PrefixDigest?, ByteRange?)
  {
    try locked { state throws(TransferError) in
      let part = try state.openPart()
      // A checkpoint may have claimed and closed it.
      var extent =
        state.open[writer]
        ?? OpenExtent(writer: writer.number, start: writer.offset, lastClaim: now)
      let range = writer.offset..<(writer.offset + count)
      guard extent.reserved == nil, extent.range.upperBound == writer.offset,
        state.claimed.isDisjoint(range),
        state.open.allSatisfy({ $0.writer == writer.number || !$0.touched.overlaps(range) })
      else {
        throw TransferError(.internal, "two segments write to the same bytes")
      }
      if let length = state.head?.length, range.upperBound > length {
        throw TransferError(.lengthMismatch, "the server sent more than the announced length")
      }
      try state.refuseCut(part)
      extent.reserved = range.upperBound
      state.open[writer] = extent
      return (part, extent, state.digest, state.reserveSpace(for: range))
    }
  }

  /// Writes one buffer, split at the ends of extents.
  private func put(
    _ bytes: UnsafeRawBufferPointer, to part: any DiskFile, _ extent: inout OpenExtent,
    _ digest: PrefixDigest?, now: Instant
  ) throws(TransferError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let room = Extent.maximumLength - Int(extent.length)
      let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(room))
      try FileWriter.writeAll(
        piece, to: part, at: extent.range.upperBound, "write the part file"
      ) { written in
        extent.crc.update(written)
        digest?.hashIfNext(written, at: extent.range.upperBound)
        extent.length += Int64(written.count)
      }
      rest = rest.dropFirst(piece.count)
      if Int(extent.length) == Extent.maximumLength {
        try close(&extent, of: part, now: now)
      }
    }
  }

  private func close(_ extent: inout OpenExtent, of part: any DiskFile, now: Instant)
    throws(TransferError)
  {
    guard let closed = extent.extent else { return }
    try refuseRemoved(part)
    try locked { state throws(TransferError) in
      try state.checkUsable()
      try state.claim(closed)
    }
    extent.restart()
    extent.lastClaim = now
    if durability == .strict { part.startWriteback(closed.range) }
  }
}

extension PartFile {
  /// Finds that the part file, or its whole directory, was removed: its bytes can have no name.
  private func refuseRemoved(_ part: any DiskFile) throws(TransferError) {
    let isRemoved = try mapping("check the part file") { () throws(DiskError) -> Bool in
      guard try part.status().links == 0 else { return false }
      return try directory.status(of: names.part) == nil
    }
    if isRemoved { throw removed("part file") }
  }
}

extension OpenExtent {
  fileprivate mutating func restart() {
    start += length
    length = 0
    crc = CRC32C()
  }
}

extension PartState {
  /// Finds that another program has cut the part file; the next write would fill it with zeros.
  fileprivate mutating func refuseCut(_ part: any DiskFile) throws(TransferError) {
    guard writtenEnd > 0 else { return }
    let size = try mapping("check the part file", part.size())
    if size < writtenEnd { throw distrust(.resizedError) }
  }

  /// Stores an extent after a write, unless it was dropped meanwhile.
  fileprivate mutating func store(_ extent: OpenExtent, of writer: ExtentWriter) {
    if open[writer] != nil { open[writer] = extent }
  }
}

extension [OpenExtent] {
  fileprivate subscript(writer: ExtentWriter) -> OpenExtent? {
    get { first { $0.writer == writer.number } }
    set {
      guard let newValue else { return removeAll { $0.writer == writer.number } }
      if let index = firstIndex(where: { $0.writer == writer.number }) {
        self[index] = newValue
      } else {
        append(newValue)
      }
    }
  }
}

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
    let file = try mapping("open the journal", directory.open(names.journal, writing: false))
    defer { file.close() }
    var bytes: [UInt8] = []
    let size = try mapping("check the journal", file.status().size)
    guard size >= offset + Int64(count) else { return [] }
    try FileReader.forEachBlock(of: file, in: offset..<(offset + Int64(count))) { bytes += $0 }
    return bytes
  }

  /// The error for a file that was removed.
  func removed(_ what: String) -> TransferError {
    let directoryIsGone = (try? directory.status().links) == 0  // on failure: no
    let error =
      directoryIsGone
      ? TransferError(
        .io, "the target's directory was removed", advice: "the received bytes are lost")
      : TransferError(
        .io, "the \(what) was removed or replaced by another program", advice: "run it again")
    return error.with(.lostBytes)
  }

  /// Computes digests of bytes while they are written, from now on. Earlier bytes are read back
  /// later.
  package func expectDigests(_ algorithms: [Checksum.Algorithm]) {
    state.withLockedValue { state in
      guard state.digest?.algorithms ?? [] != algorithms else { return }
      state.digest = algorithms.isEmpty ? nil : PrefixDigest(algorithms)
    }
  }

  /// The number of bytes after the hashed ones that were written out of order and must be read
  /// back.
  package var digestLag: Int64 {
    state.withLockedValue { state in
      state.digest.map { state.prefixEnd - $0.position } ?? 0
    }
  }

  /// Reads some of these bytes back.
  /// - Throws: `cancelled`, `io`.
  package func advanceDigest(by limit: Int64, isCancelled: () -> Bool) throws(TransferError) {
    let work = try locked { state throws(TransferError) in
      state.digest.map { ($0, state.part, min(state.prefixEnd, $0.position + limit)) }
    }
    guard case let (digest, file?, end)? = work else { return }
    try digest.read(upTo: end, of: file, isCancelled: isCancelled)
  }

  /// The digests of the whole file. Bytes that were not hashed while they were written are read
  /// from disk.
  /// - Throws: `cancelled`, `length-mismatch`, `io`.
  package func digests(
    _ algorithms: [Checksum.Algorithm], isCancelled: () -> Bool = { false }
  ) throws(TransferError) -> [Checksum] {
    let (part, length, running) = try locked { state throws(TransferError) in
      let part = try state.openPart()
      try state.claimIdle()
      return (part, state.claimed.ranges.last?.upperBound ?? 0, state.digest)
    }
    if let running, running.algorithms == algorithms {
      try running.read(upTo: length, of: part, isCancelled: isCancelled)
      if let checksums = running.checksums(of: length) { return checksums }
    }
    return try FileHasher.digests(algorithms, of: part, length: length, isCancelled: isCancelled)
  }
}

extension PartState {
  /// Everything before this was written.
  fileprivate var prefixEnd: Int64 {
    let written = open.reduce(into: claimed) { $0.insert(contentsOf: $1.range) }
    guard let first = written.ranges.first, first.lowerBound == 0 else { return 0 }
    return first.upperBound
  }
}
