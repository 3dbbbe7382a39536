import HaulCore
import NIOConcurrencyHelpers

/// The bytes of an upload without a file. They can be read once, and are read only as fast as they
/// are sent: what is held is a window, and the chunk after it.
///
/// One reader at a time.
actor UploadStream {
  private var iterator: any AsyncIteratorProtocol<any ByteChunk, any Error>
  /// Held until a `fill` releases them, or until bytes after it are read for a body.
  private var window: [UInt8] = []
  /// The bytes before the window.
  private var start: Int64 = 0
  /// Was read, and comes after the window.
  private var ahead: ArraySlice<UInt8> = []
  private var hasEnded = false
  /// Why it cannot be read; then it has no end either.
  private var failure: TransferError?
  /// Whether bytes after the window were read for a body, which can then not be sent again.
  private var isSpent = false
  /// The number of the body that may read. The client may still read one whose request has ended.
  private var body = 0
  /// The reading of the next chunk, and whether nothing more is read.
  private let reading = NIOLockedValueBox<(task: Task<Void, Never>?, isClosed: Bool)>((nil, false))

  init<Bytes: AsyncSequence & Sendable>(_ bytes: Bytes) where Bytes.Element: ByteChunk {
    iterator = Chunks<Bytes>(base: bytes.makeAsyncIterator())
  }

  private var end: Int64 { start + Int64(window.count) }

  /// What is held, and whether nothing follows.
  var extent: UploadExtent {
    UploadExtent(start: start, end: end, isWhole: hasEnded && ahead.isEmpty)
  }

  /// Releases the bytes before the offset, and reads until the window has so many; it is shorter
  /// only at the end.
  /// - Throws: `source-unreadable`, `interrupted`, and what the bytes themselves fail with.
  func fill(_ count: Int, from offset: Int64) async throws(TransferError) -> UploadExtent {
    let released = min(max(0, offset - start), Int64(window.count))
    start += released
    if released == window.count {
      window.removeAll(keepingCapacity: window.capacity >= count)
    } else {
      window.removeFirst(Int(released))
    }
    window.reserveCapacity(count)
    while window.count < count {
      try await readAhead()
      guard !ahead.isEmpty else { break }
      let next = ahead.prefix(count - window.count)
      window += next
      ahead = ahead.dropFirst(next.count)
    }
    // Shows whether the window is the last one.
    try await readAhead()
    return extent
  }

  /// Bytes of the window.
  /// - Throws: `interrupted` if they are no longer held: nobody needs them any more.
  func held(_ count: Int, at offset: Int64) throws(TransferError) -> [UInt8] {
    guard offset >= start, offset + Int64(count) <= end else { throw Self.stopped }
    let index = Int(offset - start)
    return Array(window[index..<(index + count)])
  }

  /// Ends the body that reads; the next one has the next number, and begins with what is held.
  /// - Returns: whether that is no longer the beginning.
  func endBody() -> Bool {
    body += 1
    return isSpent
  }

  /// How many bytes of a body can be taken at its offset without waiting; 0 at the end of the
  /// stream. After the window it reads the next chunk.
  /// - Throws: as `fill`.
  func available(at offset: Int64, body: Int) async throws(TransferError) -> Int {
    guard body == self.body else { throw Self.stopped }
    if offset < end { return Int(end - offset) }
    if !hasEnded || !ahead.isEmpty {
      (start, window, isSpent) = (end, [], true)
      try await readAhead()
    }
    return ahead.count
  }

  /// Takes so many of the available bytes.
  func take(_ count: Int, at offset: Int64, body: Int) throws(TransferError) -> [UInt8] {
    guard body == self.body else { throw Self.stopped }
    guard offset == end else { return try held(count, at: offset) }
    defer { ahead = ahead.dropFirst(count) }
    start += Int64(count)
    return Array(ahead.prefix(count))
  }

  /// Ends a read that is in progress; no more can be read.
  nonisolated func close() {
    reading.withLockedValue { reading in
      reading.isClosed = true
      reading.task?.cancel()
    }
  }

  private func readAhead() async throws(TransferError) {
    guard ahead.isEmpty, !hasEnded else { return }
    if failure == nil {
      // A task of its own, because a body's reader cannot be cancelled.
      let task = Task { await self.readChunk() }
      reading.withLockedValue { reading in
        reading.task = task
        if reading.isClosed { task.cancel() }
      }
      await withTaskCancellationHandler {
        await task.value
      } onCancel: {
        task.cancel()
      }
    }
    if let failure { throw failure }
  }

  private func readChunk() async {
    var iterator = iterator
    do {
      try Task.checkCancellation()
      repeat {
        guard let chunk = try await iterator.next(isolation: self) else {
          // Many sequences end when their reader is cancelled: that is not the end of the bytes.
          if Task.isCancelled { throw CancellationError() }
          hasEnded = true
          break
        }
        ahead = (chunk as? [UInt8] ?? chunk.withBytes { Array($0) })[...]
      } while ahead.isEmpty
      self.iterator = iterator
    } catch {
      failure = Self.error(error)
    }
  }

  private static let stopped = TransferError(.interrupted, "it was stopped")

  private static func error(_ error: any Error) -> TransferError {
    switch error {
    // Another attempt would not have the bytes.
    case let error as TransferError: TransferError(error.code, error.fact, advice: error.advice)
    case is CancellationError: stopped
    default:
      TransferError(.sourceUnreadable, "the bytes to upload cannot be read (\(type(of: error)))")
    }
  }
}

/// Chunks of any type.
private struct Chunks<Base: AsyncSequence>: ChunkIterator where Base.Element: ByteChunk {
  var base: Base.AsyncIterator

  mutating func next(isolation actor: isolated (any Actor)?) async throws -> (any ByteChunk)? {
    try await base.next(isolation: actor)
  }
}
