import HaulCore

/// Receives one accepted body and writes it, as far as the plan allows.
struct SegmentReceiver: Sendable {
  let id: SegmentID
  let context: RunContext
  let response: FetchResponse
  let body: ResponseBody
  /// A version to begin with the first byte.
  let newVersion: DownloadMachine.Version?
  /// The digests that the version must have.
  let checksums: [Checksum]
  let target: any DownloadTarget
  let plan: LockedSegmentPlan
  let maximumSize: Int64?
  let inbox: DownloadInbox

  private var engine: Engine { context.engine }

  /// The longest unwanted rest of a body that is read so that the connection can be reused.
  private static let maximumDrain: Int64 = 128 << 10

  /// Returns when the segment has ended in any way; every written byte is then claimed.
  /// - Parameter idleTimer: nil if the whole body has arrived.
  func run(_ idleTimer: IdleTimer?) async -> DownloadMachine.Event {
    var state = State(
      position: body.start,
      writer: target.writer(
        for: id, beginning: newVersion.map { ($0, checksums) },
        onOwnThread: response.executor != nil))
    var failure: TransferError?
    do {
      try await receive(&state, idleTimer)
    } catch {
      failure = error as? TransferError ?? bodyStoppedError
    }
    do {
      try await state.writer.end()
    } catch {
      failure = error
    }
    return failure.map { .failed(id, $0) } ?? .ended(id)
  }

  /// Why this side cut off a body. If the task was not cancelled, the idle timeout passed just as
  /// the header arrived.
  private var bodyStoppedError: TransferError {
    Task.isCancelled
      ? TransferError(.interrupted, "stopped", isRetryable: true) : engine.idleTimeoutError()
  }

  private struct State {
    var position: Int64
    var writer: any SegmentWriter
    var hasDelivered = false
  }

  private func receive(_ state: inout State, _ idleTimer: IdleTimer?) async throws {
    let length = body.end == nil ? plan.update({ $0.plan.length }) : nil
    if idleTimer == nil, let chunks = response.collected {
      if let length, chunks.reduce(0, { $0 + Int64($1.count) }) > length { throw Self.isLonger }
      for chunk in chunks { if try await take(chunk, &state) { return } }
      return try await ended(state)
    }
    if let length { return try await receive(exactly: length, &state, idleTimer) }
    if let length = newVersion?.length { try await target.ensureRoom(for: length) }
    var chunks = response.body.makeAsyncIterator()
    while true {
      idleTimer?.begin(at: engine.clock.now)
      guard let chunk = try await chunks.next(isolation: #isolation) else {
        try Task.checkCancellation()
        return try await ended(state)
      }
      idleTimer?.end()
      if try await take(chunk, &state) {
        idleTimer?.begin(at: engine.clock.now)
        return await drain(&chunks, from: state.position)
      }
    }
  }

  /// Receives a body without an announced end, of a file whose length is known from another one:
  /// its last bytes are written only when nothing follows them, because a longer file is another.
  private func receive(
    exactly length: Int64, _ state: inout State, _ idleTimer: IdleTimer?
  ) async throws {
    var chunks = response.body.makeAsyncIterator()
    var last: (any ByteChunk)?
    while true {
      idleTimer?.begin(at: engine.clock.now)
      let next = try await chunks.next(isolation: #isolation)
      if next == nil { try Task.checkCancellation() }
      idleTimer?.end()
      if let last {
        let end = state.position + Int64(last.count)
        if end > length || (end == length && next != nil) { throw Self.isLonger }
        _ = try await take(last, &state)
      }
      guard let next else { return try await ended(state) }
      last = next
    }
  }

  private static let isLonger = TransferError(.changedOnServer, "the file is longer now")

  /// Writes what belongs to the segment; true when that was its last byte.
  private func take(_ chunk: any ByteChunk, _ state: inout State) async throws -> Bool {
    // Neither counters nor limits of the network apply to bytes of a cache.
    let isCached = response.head.cacheUse?.isFromCache == true
    if !isCached { plan.update { $0.fetched += Int64(chunk.count) } }
    var offset = 0
    // What its own limit lets pass, and the limit of all has not yet.
    var allowed = 0
    while offset < chunk.count {
      let room = body.end.map { $0 - state.position } ?? .max
      // More bytes than announced do not belong to this range.
      if room <= 0 { return true }
      let wanted = Int(min(room, Int64(chunk.count - offset)))
      var count = wanted
      if !isCached {
        if allowed == 0 { allowed = try await context.take(upTo: wanted) }
        count = try await engine.take(upTo: min(wanted, allowed), for: context.id)
        allowed -= count
      }
      let slice = ChunkSlice(chunk, offset..<(offset + count))
      if try await write(slice, &state) { return true }
      offset += count
    }
    return false
  }

  private func write(_ slice: ChunkSlice, _ state: inout State) async throws -> Bool {
    if let maximumSize, state.position + Int64(slice.count) > maximumSize {
      throw TransferError(
        .tooLarge, "the file has more than the allowed \(maximumSize) bytes"
      ).remedied(by: .maximumSize)
    }
    let start = state.position
    let grant = plan.update { state in
      let grant = state.plan.reserve(id, count: slice.count)
      // Some of these bytes are on disk already: the server sent the whole body again.
      if grant.pieces.reduce(0, { $0 + $1.length }) < Int64(grant.used) {
        state.noteRepeated(start..<(start + Int64(grant.used)))
      }
      return grant
    }
    state.position += Int64(grant.used)
    let pieces = grant.pieces.map { piece in
      let range = Int(piece.lowerBound - start)..<Int(piece.upperBound - start)
      return (bytes: slice.narrowed(to: range), offset: piece.lowerBound)
    }
    try await state.writer.write(pieces, isLast: grant.isLast)
    let isWhole = plan.update { state in
      state.plan.noteWritten(id)
      return state.plan.isComplete
    }
    if !state.hasDelivered {
      state.hasDelivered = true
      // If nothing is left to fetch, the end of the segment follows and has the same effect.
      if !isWhole { inbox.post(.event(.delivered(id))) }
    }
    return grant.isLast
  }

  /// The body has ended: checks that it was as long as announced.
  private func ended(_ state: State) async throws(TransferError) {
    if let end = body.end, state.position < end {
      throw TransferError(.connectionLost, "the body ended early", isRetryable: true)
    }
    // An empty body of unknown length also begins a version.
    if let newVersion, state.position == body.start {
      try await target.begin(newVersion, checksums: checksums)
    }
  }

  /// Reads a short rest, to keep the connection open. An error here costs only the connection: the
  /// bytes are on disk.
  private func drain(
    _ chunks: inout some AsyncIteratorProtocol<any ByteChunk, any Error>, from position: Int64
  ) async {
    // If nothing is left to fetch, the whole download would wait for the rest.
    guard let end = body.end, end - position <= Self.maximumDrain,
      !plan.update({ $0.plan.isComplete })
    else { return }
    var rest = end - position
    while rest >= 0, let chunk = try? await chunks.next(isolation: #isolation) {
      rest -= Int64(chunk.count)
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
