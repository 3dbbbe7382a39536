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
    try locked { state throws(TransferError) in
      try state.checkUsable()
      try state.claim(closed)
    }
    extent.restart()
    extent.lastClaim = now
    if durability == .strict { part.startWriteback(closed.range) }
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
    let size = try mapping("check the part file") { () throws(DiskError) in try part.size() }
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
