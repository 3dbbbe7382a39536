import HaulCore
import NIOConcurrencyHelpers

/// The digests of a file from its first byte on, computed while bytes are written in order. Bytes
/// that come out of order are read back from the file.
///
/// No lock is held while hashing, and one thread hashes at a time. So writers elsewhere in the file
/// never wait.
final class PrefixDigest: Sendable {
  private struct State {
    var digest: IncrementalDigest
    /// Everything before this is hashed.
    var position: Int64 = 0
    /// Whether a thread is hashing the bytes from `position` on.
    var isTaken = false
  }

  let algorithms: [Checksum.Algorithm]
  private let state: NIOLockedValueBox<State>
  /// Held by the one thread that reads.
  private let readLock = NIOLock()

  init(_ algorithms: [Checksum.Algorithm]) {
    self.algorithms = algorithms
    state = NIOLockedValueBox(State(digest: IncrementalDigest(algorithms)))
  }

  var position: Int64 { state.withLockedValue { $0.position } }

  /// Hashes bytes that were written at `offset`, if they are the next ones.
  func hashIfNext(_ bytes: UnsafeRawBufferPointer, at offset: Int64) {
    guard var digest = take(at: offset) else { return }
    digest.update(bytes)
    put(digest, count: bytes.count)
  }

  /// Reads the missing bytes before `end`, which must have been written.
  /// - Throws: `cancelled`, `length-mismatch`, `io`.
  func read(
    upTo end: Int64, of file: any DiskFile, isCancelled: () -> Bool
  ) throws(TransferError) {
    try readLock.withLock {
      Result { () throws(TransferError) in try hashFromDisk(upTo: end, of: file, isCancelled) }
    }.get()
  }

  private func hashFromDisk(
    upTo end: Int64, of file: any DiskFile, _ isCancelled: () -> Bool
  ) throws(TransferError) {
    while true {
      let start = position
      let stop = min(end, start + Int64(FileHasher.blockSize))
      // A writer is hashing the bytes that follow.
      guard start < stop, let taken = take(at: start) else { return }
      var digest = taken
      do throws(TransferError) {
        try FileReader.forEachBlock(of: file, in: start..<stop, isCancelled: isCancelled) {
          digest.update($0)
        }
      } catch {
        put(taken, count: 0)
        throw error
      }
      put(digest, count: Int(stop - start))
    }
  }

  /// The digests of the first `length` bytes, if exactly those are hashed.
  func checksums(of length: Int64) -> [Checksum]? {
    state.withLockedValue { state in
      state.position == length && !state.isTaken ? state.digest.checksums : nil
    }
  }

  private func take(at offset: Int64) -> IncrementalDigest? {
    state.withLockedValue { state in
      guard state.position == offset, !state.isTaken else { return nil }
      state.isTaken = true
      return state.digest
    }
  }

  private func put(_ digest: IncrementalDigest, count: Int) {
    state.withLockedValue { state in
      state.digest = digest
      state.position += Int64(count)
      state.isTaken = false
    }
  }
}
