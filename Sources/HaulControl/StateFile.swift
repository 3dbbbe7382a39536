package import HaulCore
import HaulFiles
import HaulLibC

/// A small file of the state directory, for its owner only, which is replaced as a whole. Its calls
/// block.
package struct StateFile: Sendable {
  package let path: String
  /// The most bytes that are read.
  private static let limit = 1 << 20

  package init(path: String) { self.path = path }

  /// Nil if it does not exist.
  /// - Parameter isSecret: refuses a file that other users can read.
  /// - Throws: `io`; `permission-denied` for such a file, or one that others may have written.
  package func read(isSecret: Bool = false) throws(TransferError) -> [UInt8]? {
    let file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else {
      if errno == ENOENT { return nil }
      throw failure("read")
    }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0 else { throw failure("read") }
    guard !isSecret || status.st_mode & 0o077 == 0 else {
      throw TransferError(
        .permissionDenied, "other users can read \(path)", advice: "run: chmod 600 \(path)")
    }
    guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
      status.st_mode & 0o022 == 0
    else {
      throw TransferError(
        .permissionDenied, "others may have written \(path), so it is not used",
        advice: "delete it")
    }
    var bytes = [UInt8](repeating: 0, count: Self.limit)
    let count = bytes.withUnsafeMutableBytes { readAll(file, into: $0) }
    guard count >= 0 else { throw failure("read") }
    return Array(bytes.prefix(count))
  }

  /// Replaces it; the new content survives a power cut once this returns.
  /// - Throws: `io`, `disk-full`; then the old content is kept.
  package func write(_ bytes: some Sequence<UInt8>) throws(TransferError) {
    let new = "\(path).new"
    // Left by a process that died.
    unlink(new)
    let file = open(new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw failure("write") }
    do throws(TransferError) {
      defer { close(file) }
      let isWritten = Array(bytes).withUnsafeBytes { writeAll($0, to: file) }
      guard isWritten, fsync(file) == 0, rename(new, path) == 0 else { throw failure("write") }
    } catch {
      unlink(new)
      throw error
    }
    try syncDirectory()
  }

  package var exists: Bool { access(path, F_OK) == 0 }

  /// Makes an empty one, if it is missing; it survives a power cut once this returns.
  /// - Throws: `io`, `disk-full`.
  package func create() throws(TransferError) {
    let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw failure("write") }
    close(file)
    try syncDirectory()
  }

  /// - Throws: `io`.
  package func remove() throws(TransferError) {
    guard unlink(path) == 0 || errno == ENOENT else { throw failure("delete") }
    try syncDirectory()
  }

  private func syncDirectory() throws(TransferError) {
    let directory = open(path.pathParts.directory, O_RDONLY)
    guard directory >= 0 else { throw failure("write") }
    defer { close(directory) }
    guard fsync(directory) == 0 else { throw failure("write") }
  }

  private func failure(_ verb: String) -> TransferError {
    let code: TransferError.Code = errno == ENOSPC || errno == EDQUOT ? .diskFull : .io
    return TransferError(code, "cannot \(verb) \(path): \(SystemError.text(errno))")
  }
}
