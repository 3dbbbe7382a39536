import HaulCore
import HaulLibC

/// Lets one process at a time open the cache directory.
final class DirectoryLock: Sendable {
  private let file: Int32

  /// Waits for other processes, so long at most.
  /// - Throws: `in-use` if another process holds it for longer.
  init(_ path: String, patience: Duration) throws(TransferError) {
    file = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
    let isOther = file < 0 ? [EISDIR, ELOOP].contains(errno) : !RegularFile.isOpen(file)
    guard !isOther else {
      throw TransferError(
        .io, "cannot lock the cache directory: \(path) is not a file", advice: "remove it")
    }
    try check(file >= 0, "open", "lock the cache directory")
    let end = ContinuousClock.now + patience
    while flock(file, LOCK_EX | LOCK_NB) != 0 {
      try check(errno == EWOULDBLOCK || errno == EINTR, "flock", "lock the cache directory")
      guard ContinuousClock.now < end else { throw Self.heldByAnother }
      _ = usleep(10_000)
    }
  }

  static var heldByAnother: TransferError {
    TransferError(.inUse, "another process is using the cache directory", advice: "try again later")
  }

  deinit { _ = close(file) }
}

/// A pipe would make its reader wait, and a link may lead anywhere: neither is a file of a cache.
enum RegularFile {
  static func isOpen(_ file: Int32) -> Bool {
    var status = stat()
    return fstat(file, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  /// Leaves under this name only a file for this user alone, or nothing.
  static func require(_ path: String) throws(TransferError) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    if status.st_mode & S_IFMT == S_IFREG {
      guard status.st_mode & 0o077 != 0 else { return }
      let isDone = chmod(path, 0o600) == 0 || errno == ENOENT
      try check(isDone, "chmod", "protect the index of the cache")
    } else if unlink(path) != 0 {
      throw TransferError(
        .io, "cannot use the index of the cache: \(path) is not a file", advice: "remove it")
    }
  }

  /// Creates an empty one for this user alone. An existing file is not opened: to close it would
  /// release the locks that SQLite holds on it in this process.
  static func create(_ path: String) throws(TransferError) {
    let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    try check(file >= 0 || errno == EEXIST, "open", "create the index of the cache")
    if file >= 0 { _ = close(file) }
  }
}

extension FileIdentity {
  /// Nil if there is no file.
  init?(_ path: String) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    self.init(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
  }
}
