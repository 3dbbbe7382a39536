package import HaulCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

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

extension TransferError {
  /// - Parameter action: the action, as in "cannot ACTION".
  package init(_ error: DiskError, while action: String) {
    let reason = "cannot \(action): \(SystemError.text(error.errno))"
    switch error.errno {
    case EACCES, EPERM:
      self.init(.permissionDenied, "\(reason); check who may write there")
    case EXDEV where error.call == "open" || error.call == "realpath":
      self.init(
        .permissionDenied, "cannot \(action): it lies outside of the directories allowed for it")
    case EROFS:
      self.init(.permissionDenied, "\(reason); choose a directory that can be written")
    case ENOSPC, EDQUOT:
      self.init(
        .diskFull, "\(reason); free some space and run it again, the received bytes are kept",
        cause: .noRoom)
    case EFBIG:
      self.init(
        .tooLarge,
        "\(reason); the file system, or the shell (ulimit -f), does not allow a file this large")
    case ELOOP, EISDIR, ENXIO:
      self.init(.notARegularFile, "\(reason); choose another name")
    case ENOTDIR:
      self.init(.notARegularFile, "\(reason); a part of the path is not a directory")
    case EEXIST:
      self.init(.nameConflict, "\(reason); choose another name or move the file away")
    case ENAMETOOLONG,
      EINVAL where error.call == "openat":
      self.init(.badName, "\(reason); choose a shorter name")
    case ENOENT:
      let isMaking = error.call == "mkdir"
      self.init(
        .io,
        isMaking
          ? "\(reason); no directory can be made there, choose another"
          : "\(reason); was the directory removed?")
    default:
      self.init(.io, reason)
    }
  }
}
