import HaulCore

/// The end of a journal that this process holds. It appends records and detects other writers.
struct JournalWriter {
  /// Nil while the journal is deferred.
  private(set) var file: (any DiskFile)?
  /// The records of a deferred journal. Most are never written, so they are encoded only when
  /// needed.
  private var kept: [JournalRecord] = []
  private(set) var end: Int64
  private var crc: UInt32
  /// Whether a failed append left bytes that could not be cut off.
  private var isBroken = false

  /// Continues after the valid records; the next write cuts off a torn tail.
  init(file: any DiskFile, replay: JournalReplay) {
    self.file = file
    end = Int64(replay.end)
    crc = replay.crc
  }

  /// A deferred journal, which keeps its records until it gets a file.
  init() {
    end = 0
    crc = 0
    // Header, run, bytes, publication.
    kept.reserveCapacity(4)
  }

  /// Writes all kept records to a new, empty file, and continues there.
  /// - Returns: the offset of the last run record.
  mutating func writeKeptRecords(in newFile: any DiskFile) throws(TransferError) -> RunRecordOffset?
  {
    var bytes = kept.isEmpty ? [] : JournalFormat.header()
    var sum = kept.isEmpty ? crc : checksumBefore
    var run: RunRecordOffset?
    for record in kept {
      let frame = try record.framed(after: &sum)
      if case .run = record { run = (Int64(bytes.count), frame) }
      bytes += frame
    }
    try Self.put(bytes, into: newFile, at: 0)
    (file, end, crc, kept) = (newFile, Int64(bytes.count), sum, [])
    return run
  }

  typealias RunRecordOffset = (offset: Int64, bytes: [UInt8])

  func sync() throws(DiskError) { try file?.syncData() }

  /// Takes over the file: cuts off the torn tail and rewrites the valid records. Then a sync
  /// includes records that a failed sync of another process may have dropped.
  mutating func takeOver(_ valid: [UInt8], rewriting: Bool) throws(TransferError) {
    guard let file else { return }
    try mapping("repair the journal") { () throws(DiskError) in
      if try file.status().size != end { try file.truncate(to: end) }
    }
    guard rewriting, !valid.isEmpty else { return }
    try Self.put(valid, into: file, at: 0)
  }

  /// The offset of the next record.
  var nextOffset: Int64 { end == 0 ? Int64(JournalFormat.headerLength) : end }

  /// The checksum that the next record continues.
  var checksumBefore: UInt32 {
    end == 0 ? UInt32(littleEndian: JournalFormat.header()[12...]) : crc
  }

  /// Appends a record.
  /// - Throws: `disk-full`, `io`; `in-use` if another process wrote to the journal.
  mutating func append(_ record: JournalRecord) throws(TransferError) {
    guard !isBroken else { throw TransferError(.io, "the journal could not be written") }
    guard let file else { return kept.append(record) }
    try checkEnd()
    var bytes = end == 0 ? JournalFormat.header() : []
    var sum = checksumBefore
    bytes += try record.framed(after: &sum)
    do throws(TransferError) {
      try Self.put(bytes, into: file, at: end)
    } catch {
      cutBack()
      throw error
    }
    end += Int64(bytes.count)
    crc = sum
  }

  /// - Throws: `in-use` if the journal does not end where this process stopped writing.
  func checkEnd() throws(TransferError) {
    guard let file else { return }
    let size = try mapping("check the journal", file.status().size)
    guard size == end else { throw .takenOverError }
  }

  private mutating func cutBack() {
    do throws(DiskError) {
      try file?.truncate(to: end)
    } catch {
      isBroken = true
    }
  }

  private static func put(
    _ bytes: [UInt8], into file: any DiskFile, at offset: Int64
  ) throws(TransferError) {
    let result: Result<Void, TransferError> = bytes.withUnsafeBytes { buffer in
      Result { () throws(TransferError) in
        try FileWriter.writeAll(buffer, to: file, at: offset, "write the journal")
      }
    }
    try result.get()
  }
}

extension TransferError {
  static let takenOverError = TransferError(
    .inUse, "another process has taken over the part file", advice: "nothing was changed")
}

enum FileWriter {
  /// Writes all bytes, in as many calls as needed.
  static func writeAll(
    _ bytes: UnsafeRawBufferPointer, to file: any DiskFile, at offset: Int64, _ action: String,
    progress: (UnsafeRawBufferPointer) -> Void = { _ in }
  ) throws(TransferError) {
    var rest = bytes[...]
    var offset = offset
    while !rest.isEmpty {
      let count = try mapping(
        action, file.write(UnsafeRawBufferPointer(rebasing: rest), at: offset))
      guard count > 0, count <= rest.count else {
        throw TransferError(.io, "cannot \(action): the system wrote no bytes")
      }
      progress(UnsafeRawBufferPointer(rebasing: rest.prefix(count)))
      rest = rest.dropFirst(count)
      offset += Int64(count)
    }
  }
}
