import HaulCore
import HaulFiles

/// Streams one accepted body into the part file, as far as the plan lets it.
struct SegmentReceiver: Sendable {
  let id: SegmentID
  let response: FetchResponse
  let body: ResponseBody
  /// A new generation of the journal, to be begun with the first byte.
  let begin: JournalHead?
  let part: PartFile
  let plan: SharedPlan
  let engine: Engine
  let maximumSize: Int64?
  /// Called once, when the first bytes are written.
  let delivered: @Sendable () -> Void

  /// How a body ended.
  enum End: Sendable {
    case ended
    case failed(TransferError)
  }

  /// How much of an unwanted rest is read so that the connection can be used again.
  private static let worthDraining: Int64 = 128 << 10

  /// Returns when the segment has ended, one way or the other; every byte written is claimed then.
  /// A cancelled one returns `interrupted`.
  func run(_ silence: Silence) async -> End {
    var progress = State(position: body.start)
    let end: End
    do {
      if let begin, let length = begin.length {
        try await engine.io.run { [part] () throws(TransferError) in
          try part.ensureRoom(for: length)
        }
      }
      end = try await receive(&progress, silence)
    } catch let error as TransferError {
      end = .failed(error)
    } catch {
      end = .failed(TransferError(.interrupted, "stopped", isRetryable: true))
    }
    return await claim(progress.writer) ?? end
  }

  private struct State {
    var position: Int64
    var writer: ExtentWriter?
    var hasBegun = false
    var hasDelivered = false
  }

  private func receive(_ state: inout State, _ silence: Silence) async throws -> End {
    var chunks = response.body.makeAsyncIterator()
    while true {
      silence.begin(at: engine.clock.now)
      guard let chunk = try await chunks.next(isolation: #isolation) else {
        try Task.checkCancellation()
        return try await ended(&state)
      }
      silence.end()
      plan.update { $0.fetched += Int64(chunk.count) }
      if try await take(chunk, &state) {
        silence.begin(at: engine.clock.now)
        await drain(&chunks, from: state.position)
        return .ended
      }
    }
  }

  /// Writes what belongs to the segment; true when that was its last byte.
  private func take(_ chunk: any ByteChunk, _ state: inout State) async throws -> Bool {
    var offset = 0
    while offset < chunk.count {
      let room = body.end.map { $0 - state.position } ?? .max
      // More bytes than announced: they are not of this range.
      if room <= 0 { return true }
      let wanted = Int(min(room, Int64(chunk.count - offset)))
      let count = try await engine.throttle.take(upTo: wanted)
      let slice = ChunkSlice(chunk, offset..<(offset + count))
      if try await write(slice, &state) { return true }
      offset += count
    }
    return false
  }

  private func write(_ slice: ChunkSlice, _ state: inout State) async throws -> Bool {
    if let maximumSize, state.position + Int64(slice.count) > maximumSize {
      throw TransferError(.tooLarge, "the file has more bytes than --max-filesize \(maximumSize)")
    }
    try await beginOnce(&state)
    let start = state.position
    let grant = plan.update { $0.plan.reserve(id, count: slice.count) }
    state.position += Int64(grant.used)
    for piece in grant.pieces {
      let bytes = slice.narrowed(
        to: Int(piece.lowerBound - start)..<Int(piece.upperBound - start))
      state.writer = try await append(bytes, at: piece.lowerBound, state.writer)
    }
    plan.update { $0.plan.wrote(id) }
    if !state.hasDelivered {
      state.hasDelivered = true
      delivered()
    }
    return grant.isLast
  }

  /// Writes behind what the writer wrote, or, where something was skipped, with a new writer.
  private func append(
    _ bytes: ChunkSlice, at offset: Int64, _ writer: ExtentWriter?
  ) async throws(TransferError) -> ExtentWriter {
    let (part, now) = (part, engine.clock.now)
    return try await engine.io.run { () throws(TransferError) in
      var next: ExtentWriter
      if let writer, writer.offset == offset {
        next = writer
      } else {
        if var last = writer { try part.claim(&last) }
        next = try part.writer(at: offset, now: now)
      }
      try part.write([bytes], with: &next, now: now)
      return next
    }
  }

  private func beginOnce(_ state: inout State) async throws(TransferError) {
    guard let begin, !state.hasBegun else { return }
    state.hasBegun = true
    try await engine.io.run { [part] () throws(TransferError) in try part.begin(begin) }
  }

  /// The body is over: was that all that it announced?
  private func ended(_ state: inout State) async throws -> End {
    if let end = body.end, state.position < end {
      return .failed(
        TransferError(.connectionLost, "the body ended early", isRetryable: true))
    }
    // An empty body of unknown length is a version too.
    try await beginOnce(&state)
    return .ended
  }

  /// Reads a short rest, so that the connection lives. What goes wrong here costs the connection only: the bytes are there.
  private func drain(
    _ chunks: inout some AsyncIteratorProtocol<any ByteChunk, any Error>, from position: Int64
  ) async {
    // With nothing left to fetch, the whole download would wait for it.
    guard let end = body.end, end - position <= Self.worthDraining,
      !plan.update({ $0.plan.isComplete })
    else { return }
    var rest = end - position
    while rest >= 0, let chunk = try? await chunks.next(isolation: #isolation) {
      rest -= Int64(chunk.count)
    }
  }

  private func claim(_ writer: ExtentWriter?) async -> End? {
    guard let writer else { return nil }
    do {
      try await engine.io.run { [part] () throws(TransferError) in
        var last = writer
        try part.claim(&last)
      }
      return nil
    } catch {
      return .failed(error)
    }
  }
}

/// Some of the bytes of a chunk, without a copy.
struct ChunkSlice: ByteChunk {
  private let base: any ByteChunk
  private let range: Range<Int>

  init(_ base: any ByteChunk, _ range: Range<Int>) {
    self.base = base
    self.range = range
  }

  var count: Int { range.count }

  func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try base.withBytes { try body(UnsafeRawBufferPointer(rebasing: $0[range])) }
  }

  func narrowed(to part: Range<Int>) -> ChunkSlice {
    ChunkSlice(
      base, (range.lowerBound + part.lowerBound)..<(range.lowerBound + part.upperBound))
  }
}
