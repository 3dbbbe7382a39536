import DequeModule
import HaulCore
import HaulFiles
import NIOConcurrencyHelpers

/// The bytes that one reader has not read yet, in any order of arrival; at most the window's size.
///
/// The chunk that the reader holds counts until it asks for the next one. A segment whose bytes do
/// not fit waits, except the one whose bytes are next.
package final class StreamBuffer: Sendable {
  struct State {
    /// By the offset of their first byte; without overlaps.
    var chunks: [Int64: ChunkSlice] = [:]
    /// The end of what the reader was given.
    var givenEnd: Int64 = 0
    /// The end of what the reader has finished with.
    var readEnd: Int64 = 0
    var bufferedBytes: Int64 = 0
    var peakBuffered: Int64 = 0
    /// Of the present version, to tell what it is.
    var firstBytes: [UInt8] = []
    var digest: IncrementalDigest?
    var end: Result<Void, TransferError>?
    /// The answer that the bytes come from, and the generation of its version.
    var head: (response: TransferResponse, generation: Int)?
    var plan: LockedSegmentPlan?
    var generation = 0
    var moved: @Sendable () -> Void = {}
    var waiters: [UInt64: Waiter] = [:]
    var lastWaiter: UInt64 = 0

    mutating func number() -> UInt64 {
      lastWaiter += 1
      return lastWaiter
    }
  }

  struct Waiter {
    let holds: @Sendable (borrowing State) -> Bool
    /// Called once, when the condition holds.
    let resume: @Sendable () -> Void
  }

  let size: Int64
  /// Stopped when the stream loses its reader.
  let abandoned = StopSignal()
  private let state = NIOLockedValueBox(State())
  private let io: BlockingIO

  package init(size: Int64, io: BlockingIO) {
    self.size = size
    self.io = io
  }

  /// The most bytes buffered at once so far.
  var peakBuffered: Int64 { state.withLockedValue { $0.peakBuffered } }
  var firstBytes: [UInt8] { state.withLockedValue { $0.firstBytes } }
  var waiting: Int { state.withLockedValue { $0.waiters.count } }
  var bufferedBytes: Int64 { state.withLockedValue { $0.bufferedBytes } }

  /// - Parameter moved: called when the reader has advanced by a part of the window.
  func attach(_ plan: LockedSegmentPlan, moved: @escaping @Sendable () -> Void) {
    change { state in
      state.plan = plan
      state.moved = moved
    }
  }

  /// Begins a version; the reader has received nothing of an earlier one.
  func begin(_ algorithms: [Checksum.Algorithm]) {
    change { state in
      state.chunks = [:]
      (state.bufferedBytes, state.firstBytes) = (0, [])
      state.digest = algorithms.isEmpty ? nil : IncrementalDigest(algorithms)
      state.generation = state.plan?.update { $0.plan.window?.generation } ?? 0
    }
  }

  /// Notes the answer that has the first bytes.
  func note(_ response: TransferResponse) {
    change { state in
      state.head = (response, state.plan?.update { $0.plan.window?.generation } ?? 0)
    }
  }

  /// The answer, once it is accepted: no other version follows it. Nil for a resource that ended
  /// without one.
  /// - Throws: why the download failed, `cancelled`.
  func head() async throws(TransferError) -> TransferResponse? {
    while true {
      let (head, end) = change { state -> (TransferResponse?, Result<Void, TransferError>?) in
        guard let head = state.head, let plan = state.plan else { return (nil, state.end) }
        let isFinal =
          state.givenEnd > 0
          || plan.update { $0.plan.commitToReader(generation: head.generation) }
        if !isFinal { state.head = nil }
        return (isFinal ? head.response : nil, state.end)
      }
      if let head { return head }
      if let end {
        try end.get()
        return nil
      }
      await wait { $0.head != nil || $0.end != nil }
      if Task.isCancelled { throw TransferError(.cancelled, "the stream no longer has a reader") }
    }
  }

  var hasEnded: Bool { state.withLockedValue { $0.end != nil } }

  /// Ends the stream after the bytes that it holds; at once if the transfer was stopped.
  func finish(_ end: Result<Void, TransferError>) {
    change { state in
      guard state.end == nil else { return }
      state.end = end
      guard case .failure(let error) = end, [.cancelled, .interrupted].contains(error.code) else {
        return
      }
      state.chunks = [:]
      state.bufferedBytes = state.givenEnd - state.readEnd
    }
  }
}

/// The network's side.
extension StreamBuffer {
  /// Takes the pieces if they fit or are next.
  func take(_ pieces: [(bytes: ChunkSlice, offset: Int64)]) -> Bool {
    guard let (first, end) = Self.bounds(pieces) else { return true }
    return change { state in
      guard Self.fits(first, end, state, size) else { return false }
      for piece in pieces {
        state.chunks[piece.offset] =
          piece.offset == state.givenEnd ? piece.bytes : piece.bytes.compact
        state.bufferedBytes += Int64(piece.bytes.count)
        if piece.offset < MisplacedPage.examinedBytes, piece.offset == state.firstBytes.count {
          piece.bytes.withBytes { state.firstBytes += $0.prefix(MisplacedPage.examinedBytes) }
        }
      }
      state.peakBuffered = max(state.peakBuffered, state.bufferedBytes)
      return true
    }
  }

  /// - Throws: `CancellationError`.
  func waitForRoom(_ pieces: [(bytes: ChunkSlice, offset: Int64)]) async throws {
    guard let (first, end) = Self.bounds(pieces) else { return }
    await wait { [size] in Self.fits(first, end, $0, size) }
    try Task.checkCancellation()
  }

  private static func bounds(
    _ pieces: [(bytes: ChunkSlice, offset: Int64)]
  ) -> (first: Int64, end: Int64)? {
    guard let first = pieces.first, let last = pieces.last else { return nil }
    return (first.offset, last.offset + Int64(last.bytes.count))
  }

  private static func fits(
    _ first: Int64, _ end: Int64, _ state: borrowing State, _ size: Int64
  ) -> Bool {
    first <= state.readEnd || end <= state.readEnd + size
  }

  /// Calls `completionHandler` once everything before `length` has been read.
  func whenRead(_ length: Int64, _ completionHandler: @escaping @Sendable () -> Void) {
    let number = state.withLockedValue { $0.number() }
    change {
      $0.waiters[number] = Waiter(holds: { $0.readEnd >= length }, resume: completionHandler)
    }
  }

  /// Returns when everything before `length` has been read.
  /// - Throws: `interrupted`.
  func waitUntilRead(_ length: Int64) async throws(TransferError) {
    await wait { $0.readEnd >= length }
    if Task.isCancelled { throw TransferError(.interrupted, "stopped", isRetryable: true) }
  }

  /// The requested digests of all bytes, once all have passed.
  func digests(of length: Int64) async throws(TransferError) -> [Checksum] {
    try await waitUntilRead(length)
    return state.withLockedValue { $0.digest?.checksums ?? [] }
  }
}

/// The reader's side.
extension StreamBuffer {
  /// The next bytes, in order; nil at the end. Releases the previous ones.
  /// - Throws: why the download failed, `cancelled`.
  func next() async throws(TransferError) -> ChunkSlice? {
    releaseRead()
    while true {
      if let chunk = give() {
        try await hash(chunk)
        return chunk
      }
      if let end = state.withLockedValue({ $0.end }) {
        try end.get()
        return nil
      }
      await wait { $0.chunks[$0.givenEnd] != nil || $0.end != nil }
      if Task.isCancelled { throw TransferError(.cancelled, "the stream no longer has a reader") }
    }
  }

  private func releaseRead() {
    let moved = change { state -> (@Sendable () -> Void)? in
      guard state.readEnd < state.givenEnd, let plan = state.plan else { return nil }
      let before = state.readEnd
      state.bufferedBytes -= state.givenEnd - state.readEnd
      state.readEnd = state.givenEnd
      let piece = plan.update { shared in
        shared.plan.noteRead(upTo: state.givenEnd)
        return shared.plan.window?.piece ?? .max
      }
      return before / piece < state.readEnd / piece ? state.moved : nil
    }
    moved?()
  }

  private func give() -> ChunkSlice? {
    change { state in
      guard let plan = state.plan, let chunk = state.chunks[state.givenEnd] else { return nil }
      // The version may have been discarded at this moment.
      guard plan.update({ $0.plan.commitToReader(generation: state.generation) }) else {
        state.chunks = [:]
        state.bufferedBytes = 0
        return nil
      }
      state.chunks[state.givenEnd] = nil
      state.givenEnd += Int64(chunk.count)
      return chunk
    }
  }

  /// Hashing is CPU work: it must not run on the cooperative threads.
  private func hash(_ chunk: ChunkSlice) async throws(TransferError) {
    guard var digest = state.withLockedValue({ $0.digest }) else { return }
    digest = try await io.run { [digest] () throws(TransferError) in
      var next = digest
      chunk.withBytes { next.update($0) }
      return next
    }
    state.withLockedValue { [digest] in $0.digest = digest }
  }
}

extension StreamBuffer {
  /// Changes the state, and resumes waiters whose condition now holds; never calls out under the
  /// lock.
  @discardableResult
  private func change<Value>(_ body: (inout State) -> Value) -> Value {
    let (value, ready) = state.withLockedValue { state in
      let value = body(&state)
      var ready: [@Sendable () -> Void] = []
      for (number, waiter) in state.waiters where waiter.holds(state) {
        state.waiters[number] = nil
        ready.append(waiter.resume)
      }
      return (value, ready)
    }
    for resume in ready { resume() }
    return value
  }

  /// Returns when the condition holds, or the task is cancelled.
  private func wait(until holds: @escaping @Sendable (borrowing State) -> Bool) async {
    let number = state.withLockedValue { $0.number() }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isReady = state.withLockedValue { state in
          if Task.isCancelled || holds(state) { return true }
          state.waiters[number] = Waiter(holds: holds) { continuation.resume() }
          return false
        }
        if isReady { continuation.resume() }
      }
    } onCancel: {
      state.withLockedValue { $0.waiters.removeValue(forKey: number) }?.resume()
    }
  }
}

extension ChunkSlice {
  /// Copies waiting bytes, to release the large buffer that a short read leaves around them.
  fileprivate var compact: ChunkSlice {
    guard count < 128 << 10 else { return self }
    return ChunkSlice(OwnedBytes(bytes: withBytes { Array($0) }), 0..<count)
  }
}

private struct OwnedBytes: ByteChunk {
  let bytes: [UInt8]
  var count: Int { bytes.count }

  func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try bytes.withUnsafeBytes(body)
  }
}
