package import HaulCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

extension ControlLocation {
  /// Creates the directory, for its owner only, and its parents, if missing.
  /// - Throws: `permission-denied` when it belongs to another user, or others may use it; `io`.
  package func prepareDirectory() throws(TransferError) {
    try PrivateDirectory.prepare(directory, "state", variable: "XDG_STATE_HOME")
  }
}

/// A directory that only its owner can access.
package enum PrivateDirectory {
  /// Creates it and its parents, if missing.
  /// - Parameters:
  ///   - kind: what it is for.
  ///   - variable: the environment variable that chooses another one.
  /// - Throws: `permission-denied` when it belongs to another user, or others may use it; `io`.
  package static func prepare(
    _ path: String, _ kind: String, variable: String
  ) throws(TransferError) {
    for created in path.pathPrefixes {
      guard mkdir(created, 0o700) == 0 || errno == EEXIST || errno == EISDIR else {
        throw TransferError(
          .io,
          "cannot create the directory \(created): \(SystemError.text(errno)); "
            + "set \(variable) to another one")
      }
    }
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
      throw TransferError(.io, "\(path) is not a directory")
    }
    guard status.st_uid == geteuid() else {
      throw TransferError(
        .permissionDenied,
        "the \(kind) directory \(path) belongs to another user; set \(variable) to another one")
    }
    guard status.st_mode & 0o077 == 0 else {
      throw TransferError(
        .permissionDenied,
        "other users may use the \(kind) directory \(path); run: chmod 700 \(path)")
    }
  }
}
