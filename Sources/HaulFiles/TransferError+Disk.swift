package import HaulCore
import HaulLibC

/// Makes disk calls, and maps their errors to those of a transfer. There is no other such mapping.
/// - Parameter action: the action, as in "cannot ACTION".
package func mapping<Value>(
  _ action: @autoclosure () -> String, _ body: () throws(DiskError) -> Value
) throws(TransferError) -> Value {
  do throws(DiskError) {
    return try body()
  } catch {
    throw TransferError(error, while: action())
  }
}

/// The same for one expression.
package func mapping<Value>(
  _ action: @autoclosure () -> String, _ value: @autoclosure () throws(DiskError) -> Value
) throws(TransferError) -> Value {
  try mapping(action()) { () throws(DiskError) in try value() }
}

extension TransferError {
  /// - Parameter action: the action, as in "cannot ACTION".
  package init(_ error: DiskError, while action: String) {
    let reason = "cannot \(action): \(SystemError.text(error.errno))"
    let isMaking = ["openat", "mkdir"].contains(error.call)
    let isSyncing = ["fsync", "fdatasync"].contains(error.call)
    switch error.errno {
    case _ where isSyncing && [EINVAL, EOPNOTSUPP, ENOSYS].contains(error.errno):
      self = TransferError(
        .io, reason, advice: "the file system does not support it: download without syncs"
      ).remedied(by: .relaxedDurability)
    case EACCES where error.call == "readlink":
      self.init(
        .permissionDenied, "cannot \(action): another user's link is in the way",
        advice: "name the directory that it leads to")
    case EACCES, EPERM:
      self.init(.permissionDenied, reason, advice: "check who may write there")
    case EXDEV where error.call == "open" || error.call == "realpath":
      self.init(
        .permissionDenied, "cannot \(action): it lies outside of the directories allowed for it")
    case EROFS:
      self.init(.permissionDenied, reason, advice: "choose a directory that can be written")
    case ENOSPC, EDQUOT:
      self = TransferError(
        .diskFull, reason,
        advice: "free some space and run it again"
          + (isMaking ? "" : ", the received bytes are kept")
      ).with(.noRoom)
    case EFBIG:
      self.init(
        .tooLarge,
        reason,
        advice: "the file system, or the shell (ulimit -f), does not allow a file this large")
    case ELOOP, EISDIR, ENXIO:
      self.init(.notARegularFile, reason, advice: "choose another name")
    case ENOTDIR:
      self.init(.notARegularFile, reason, advice: "a part of the path is not a directory")
    case EEXIST:
      self.init(.nameConflict, reason, advice: "choose another name or move the file away")
    case ENAMETOOLONG:
      self.init(.badName, reason, advice: "choose a shorter name")
    case EINVAL where isMaking:
      self.init(
        .badName,
        reason,
        advice: "the file system does not take a character of the name, choose another name")
    case EBUSY where error.call == "rename":
      self.init(
        .io, reason,
        advice: "the target is a mount point and cannot be replaced, choose another name")
    case ENOENT:
      self.init(
        .io, reason,
        advice: error.call == "mkdir"
          ? "no directory can be made there, choose another" : "was the directory removed?")
    default:
      self.init(.io, reason)
    }
  }

  /// The error of a new file that cannot be made in a directory.
  init(_ error: DiskError, making file: String, in directory: any DiskDirectory) {
    let reason = TransferError(error, while: "make \(file)")
    // A new file needs a block or two; where there are many, it is the file that has no room.
    guard error.errno == ENOSPC, let free = (try? directory.availableBytes()) ?? nil,
      free > 1 << 20
    else {
      self = reason
      return
    }
    self = TransferError(
      .diskFull,
      "cannot make \(file): no inode is left, although \(ByteCount.text(free)) are free (df -i)",
      advice: "delete some files and run it again"
    ).with(.noRoom)
  }
}
