import HaulCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Lets one process at a time open the cache directory.
final class DirectoryLock: Sendable {
  private let file: Int32

  /// Waits for other processes.
  init(_ path: String) throws(TransferError) {
    file = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    try check(file >= 0, "open", "lock the cache directory")
    var result = flock(file, LOCK_EX)
    while result != 0 && errno == EINTR { result = flock(file, LOCK_EX) }
    try check(result == 0, "flock", "lock the cache directory")
  }

  deinit { _ = close(file) }
}

/// Tells one file from another that later has the same name.
struct FileIdentity: Hashable, Sendable {
  let device: UInt64
  let inode: UInt64

  /// Nil if there is no file.
  init?(_ path: String) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino))
  }
}
