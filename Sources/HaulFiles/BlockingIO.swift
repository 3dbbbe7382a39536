package import HaulCore
import NIOConcurrencyHelpers
package import NIOPosix

/// The one place that may block a thread: a bounded pool for calls of the file system.
package struct BlockingIO: Sendable {
  private let pool: NIOThreadPool?
  private let pace: DiskPace?
  private var waitsInPlace = false

  /// Runs calls on the threads of a pool that has been started; without a `clock` never in place.
  package init(pool: NIOThreadPool = .singleton, clock: (any TransferClock)? = nil) {
    self.pool = pool
    pace = clock.map { DiskPace(clock: $0) }
  }

  private init(withoutPool: Void) {
    pool = nil
    pace = nil
  }

  /// Runs calls where they are made: for simulation, where no disk ever waits.
  package static let inline = BlockingIO(withoutPool: ())

  /// The same, but calls are made where they come from for as long as the disk is prompt: for a thread of which nothing else
  /// is wanted so soon. A change of threads takes longer than a write into the page cache.
  package var inPlace: BlockingIO {
    var other = self
    other.waitsInPlace = pace != nil
    return other
  }

  /// Runs `body` on a helper thread. A cancelled task waits for it as any other: what was begun on
  /// a disk has an end that must be known.
  package func run<Value: Sendable>(
    _ body: @escaping @Sendable () throws(TransferError) -> Value
  ) async throws(TransferError) -> Value {
    guard let pool else { return try body() }
    if waitsInPlace, let pace, pace.isPrompt { return try pace.timing(body) }
    let result: Result<Value, TransferError> = await withCheckedContinuation { continuation in
      pool.submit { state in
        switch state {
        case .active:
          continuation.resume(returning: Result { () throws(TransferError) in try body() })
        case .cancelled:
          continuation.resume(
            returning: .failure(TransferError(.cancelled, "the file threads have been stopped")))
        }
      }
    }
    return try result.get()
  }
}

extension BlockingIO {
  /// `PartFile.write` on a helper thread; gives the writer back, moved on.
  package func write(
    _ chunks: [any ByteChunk], to part: PartFile, with writer: ExtentWriter, now: Instant
  ) async throws(TransferError) -> ExtentWriter {
    try await run { () throws(TransferError) in
      var writer = writer
      try part.write(chunks, with: &writer, now: now)
      return writer
    }
  }
}
