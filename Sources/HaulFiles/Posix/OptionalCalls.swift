import HaulCore
import HaulLibC

/// Calls that some file systems do not support. The file is whole and correct without them.
extension DiskFile {
  /// Sets the permission bits, unless the file system sets them itself: CIFS, drvfs, object stores.
  func setModeIfPossible(_ mode: UInt32) throws(DiskError) {
    try passing([EPERM, EOPNOTSUPP, ENOSYS]) { () throws(DiskError) in try setMode(mode) }
  }

  /// Sets the date, unless the file system sets it itself.
  func setModifiedIfPossible(_ seconds: Double) throws(DiskError) {
    try passing([EPERM, EOPNOTSUPP, ENOSYS]) { () throws(DiskError) in try setModified(seconds) }
  }
}

extension DiskDirectory {
  /// Makes names durable where that is possible: EINVAL says that the file system does not sync
  /// directories (POSIX, fsync).
  func syncIfPossible() throws(DiskError) {
    try passing([EINVAL, EOPNOTSUPP, ENOSYS]) { () throws(DiskError) in try sync() }
  }

  /// The rights of a new file here.
  /// - Parameter creationMask: the `umask`, which does not count beside a default ACL.
  func newFileMode(_ creationMask: UInt32) throws(DiskError) -> UInt32 {
    try defaultMode() ?? 0o666 & ~creationMask
  }
}

/// Passes over errors which say that a call is not supported.
private func passing(
  _ numbers: [Int32], _ body: () throws(DiskError) -> Void
) throws(DiskError) {
  do throws(DiskError) {
    try body()
  } catch {
    guard numbers.contains(error.errno) else { throw error }
  }
}
