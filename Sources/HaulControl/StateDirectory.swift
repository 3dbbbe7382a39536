package import HaulCore
import HaulFiles
import HaulLibC

extension ControlLocation {
  /// Creates the directory, for its owner only, and its parents, if missing.
  /// - Throws: `permission-denied` when it belongs to another user, or others may use it; `io`.
  package func prepareDirectory() throws(TransferError) {
    try PrivateDirectory.prepare(directory, "state", variable: Self.variable)
  }

  /// Why nothing can be there: `prepareDirectory` fails with the same words.
  func unusable(_ number: Int32) -> TransferError {
    PrivateDirectory.unusable(directory, number, variable: Self.variable)
  }

  private static let variable = "XDG_STATE_HOME"

  /// Checks that nothing else has the name of the socket; the socket of a daemon that has ended may
  /// stay there.
  /// - Throws: `io`.
  package func checkSocket() throws(TransferError) {
    var status = stat()
    guard lstat(socket, &status) == 0, status.st_mode & S_IFMT != S_IFSOCK else { return }
    throw TransferError(
      .io, "\(socket) is not a socket, so the daemon cannot listen there", advice: "move it away")
  }

  /// Whether a process uses the list, as the lock file says.
  package var isListInUse: Bool {
    let file = open(lock, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return false }
    defer { _ = close(file) }  // nothing was written
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = read(file, &bytes, bytes.count)
    let words = String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
      .byteSplit(separator: " ")
    guard words.count > 2, words[0] == "open", let pid = Int32(words[1]) else { return false }
    return kill(pid, 0) == 0 || errno == EPERM
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
    var status = stat()
    do throws(DiskError) {
      try POSIXDisk.makeOwnDirectory(path)
    } catch {
      let isOther = lstat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFDIR
      guard !isOther else { throw TransferError(.io, "\(path) is not a directory") }
      throw unusable(path, error.errno, variable: variable)
    }
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
      throw TransferError(.io, "\(path) is not a directory")
    }
    guard status.st_uid == geteuid() else {
      throw TransferError(
        .permissionDenied,
        "the \(kind) directory \(path) belongs to another user",
        advice: "set \(variable) to another one")
    }
    guard status.st_mode & 0o077 == 0 else {
      throw TransferError(
        .permissionDenied,
        "other users may use the \(kind) directory \(path)", advice: "run: chmod 700 \(path)")
    }
  }

  /// - Parameter number: the system's, for a path that leads to no directory.
  static func unusable(_ path: String, _ number: Int32, variable: String) -> TransferError {
    TransferError(
      .io, "cannot create the directory \(path): \(SystemError.text(number))",
      advice: "set \(variable) to another one")
  }
}
