import HaulCore
import HaulFiles

/// Writes one segment into the part file, not on the cooperative threads.
struct FileSegmentWriter: SegmentWriter {
  typealias Beginning = (head: JournalHead, digests: [Checksum.Algorithm])

  let part: PartFile
  let io: BlockingIO
  let clock: any TransferClock
  /// The version that the first bytes begin.
  private var beginning: Beginning?
  private var extent: ExtentWriter?

  init(part: PartFile, io: BlockingIO, clock: any TransferClock, beginning: Beginning?) {
    self.part = part
    self.io = io
    self.clock = clock
    self.beginning = beginning
  }

  mutating func write(
    _ pieces: [(bytes: ChunkSlice, offset: Int64)], isLast: Bool
  ) async throws {
    let (part, now, beginning, extent) = (part, clock.now, beginning, extent)
    self.beginning = nil
    self.extent = try await io.run { () throws(TransferError) in
      if let beginning { try part.begin(beginning, hasWholeBody: isLast) }
      var writer = extent
      for (bytes, offset) in pieces {
        var next: ExtentWriter
        if let writer, writer.offset == offset {
          next = writer
        } else {
          if var last = writer { try part.claim(&last) }
          next = try part.writer(at: offset, now: now)
        }
        try part.write([bytes], with: &next, now: now)
        writer = next
      }
      guard isLast, var last = writer else { return writer }
      try part.claim(&last)
      return nil
    }
  }

  mutating func end() async throws(TransferError) {
    guard let extent else { return }
    try await io.run { [part] () throws(TransferError) in
      var last = extent
      try part.claim(&last)
    }
  }
}

extension PartFile {
  /// - Parameter hasWholeBody: whether the whole body has arrived. If so, no space is reserved, but
  ///   it is refused when there is none.
  fileprivate func begin(
    _ beginning: FileSegmentWriter.Beginning, hasWholeBody: Bool
  ) throws(TransferError) {
    if hasWholeBody, let length = beginning.head.length { try ensureRoom(for: length) }
    try begin(
      beginning.head, digesting: beginning.digests,
      reserving: hasWholeBody ? 0 : Self.reservationStep)
  }
}
