import HaulCore
import HaulLibC

/// The right to use a store: a lock on a file in its directory. It ends with the process at the
/// latest.
///
/// The file names the holder, or has the mark of a clean close. It is never deleted.
final class StoreLock: Sendable {
  /// How the last use of the store ended.
  enum LastShutdown: Sendable {
    case closed
    /// The process died, or nothing is known.
    case unknown
  }

  let lastShutdown: LastShutdown
  private let file: Int32
  private static let closed = "closed\n"

  /// - Throws: `in-use`, `permission-denied`, `io`, `disk-full`.
  init(_ directory: StoreDirectory, program: String, wallSeconds: Double) throws(TransferError) {
    file = try Self.locked(directory)
    // Read under the lock, because the last holder may have ended meanwhile.
    lastShutdown = Self.text(file) == Self.closed ? .closed : .unknown
    let name = program.replacingBytes("\n", with: "")
    guard writeText("open \(getpid()) \(Int64(wallSeconds)) \(name)\n") else {
      throw directory.failure("write \(directory.lock)")
    }
    try directory.sync(directory.path)
  }

  private static func locked(_ directory: StoreDirectory) throws(TransferError) -> Int32 {
    _ = try directory.checkFile(directory.lock)
    let file = open(directory.lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw directory.failure("open \(directory.lock)") }
    if flock(file, LOCK_EX | LOCK_NB) == 0 { return file }
    let number = errno
    defer { close(file) }
    guard number == EWOULDBLOCK else { throw directory.failure("lock \(directory.lock)", number) }
    throw inUse(directory, text(file))
  }

  deinit {
    unlock()
    close(file)
  }

  /// Releases the lock.
  func release(isClean: Bool) {
    // If this cannot be written, the next opening checks the whole database.
    if isClean { _ = writeText(Self.closed) }
    unlock()
  }

  /// Closing is not enough: a program that is being started holds a copy for a moment.
  private func unlock() { flock(file, LOCK_UN) }

  private func writeText(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    return ftruncate(file, 0) == 0 && pwrite(file, bytes, bytes.count, 0) == bytes.count
      && fsync(file) == 0
  }

  private static func text(_ file: Int32) -> String {
    var bytes = [UInt8](repeating: 0, count: 512)
    let count = pread(file, &bytes, bytes.count, 0)
    return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
  }

  private static func inUse(_ directory: StoreDirectory, _ text: String) -> TransferError {
    let words = text.dropLast().byteSplit(separator: " ", maxSplits: 3)
    var holder = "another process"
    if words.count == 4, words[0] == "open", let pid = Int32(words[1]),
      let since = Int64(words[2])
    {
      let date = HTTPDate(secondsSince1970: since).imfFixdate
      holder =
        pid == getpid()
        ? "this process (since \(date))" : "\(words[3]) (process \(pid), since \(date))"
    }
    return TransferError(
      .inUse,
      "the queue in \(directory.path) is in use by \(holder)",
      advice: "stop that one first, or give this one a directory of its own")
  }
}
