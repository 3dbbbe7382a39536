import HaulControl
import HaulCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A file that exists while the queue is suspended: it stays suspended after a crash.
struct SuspendedFlagFile: Sendable {
  let path: String

  var exists: Bool { access(path, F_OK) == 0 }

  /// - Throws: `io`, `disk-full`, when it would not survive a crash.
  func set(_ isSuspended: Bool) throws(TransferError) {
    if isSuspended {
      let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
      guard file >= 0 else { throw failure() }
      close(file)
    } else if unlink(path) != 0, errno != ENOENT {
      throw failure()
    }
    let directory = open(path.pathParts.directory, O_RDONLY)
    guard directory >= 0 else { throw failure() }
    defer { close(directory) }
    guard fsync(directory) == 0 else { throw failure() }
  }

  private func failure() -> TransferError {
    let code: TransferError.Code = errno == ENOSPC || errno == EDQUOT ? .diskFull : .io
    return TransferError(code, "cannot write \(path): \(SystemError.text(errno))")
  }
}
