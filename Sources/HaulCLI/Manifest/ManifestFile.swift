import HaulCore
import HaulLibC

/// A manifest on the disk that a run appends to. Several runs may do so at the same time, because
/// each writes whole lines.
final class ManifestFile {
  private let descriptor: Int32
  let path: String
  /// Whether a run was ended in the midst of its last line.
  private var needsLineBreak: Bool

  /// Opens it, or makes it.
  init(_ path: String) throws(TransferError) {
    self.path = path
    descriptor = try Self.openedOwn(path, O_RDWR | O_CREAT | O_APPEND)
    let size = lseek(descriptor, 0, SEEK_END)
    guard let last = FileLines.bytes(of: descriptor, max(0, Int64(size) - 1), 1) else {
      let number = errno
      _ = close(descriptor)  // nothing was written
      throw Self.error(path, "cannot be read", number)
    }
    needsLineBreak = !last.isEmpty && last != [0x0A]
  }

  /// Opens one that says what is left out. A link there may be another user's, and lead to a file
  /// of this one.
  static func openedOwn(_ path: String, _ flags: Int32) throws(TransferError) -> Int32 {
    let descriptor = try opened(path, flags | O_NOFOLLOW)
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_uid == geteuid() else {
      _ = close(descriptor)  // nothing was written
      throw TransferError(
        .permissionDenied, "the manifest \(path) belongs to another user",
        advice: "it would say what is left out; name another file")
    }
    return descriptor
  }

  /// - Throws: for what is no regular file.
  static func opened(_ path: String, _ flags: Int32 = O_RDONLY) throws(TransferError) -> Int32 {
    var descriptor = open(path, flags | O_CLOEXEC | O_NONBLOCK, 0o666)
    if descriptor < 0, errno == ENOENT, flags & O_CREAT != 0, makeDirectory(of: path) {
      descriptor = open(path, flags | O_CLOEXEC | O_NONBLOCK, 0o666)
    }
    guard descriptor >= 0 else { throw error(path, "cannot be opened", errno) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      _ = close(descriptor)  // nothing was written
      throw TransferError(.notARegularFile, "the manifest \(path) is no regular file")
    }
    return descriptor
  }

  deinit { _ = close(descriptor) }  // `finish` has synced it

  /// Makes the directories that are missing, as `-d` does.
  private static func makeDirectory(of path: String) -> Bool {
    let directory = path.pathParts.directory
    if mkdir(directory, 0o777) == 0 || errno == EEXIST { return true }
    guard errno == ENOENT, makeDirectory(of: directory) else { return false }
    return mkdir(directory, 0o777) == 0 || errno == EEXIST
  }

  /// Appends whole lines with one write.
  func append(_ lines: String) async throws(TransferError) {
    let text = (needsLineBreak ? "\n" : "") + lines
    needsLineBreak = false
    switch await OutputStream(descriptor: descriptor).write(text) {
    case .written: return
    case .gone: throw Self.error(path, "cannot be written", EPIPE)
    case .failed(let number): throw Self.error(path, "cannot be written", number)
    }
  }

  /// Syncs what was appended.
  func finish() throws(TransferError) {
    guard fsync(descriptor) == 0 else { throw Self.error(path, "cannot be written", errno) }
  }

  /// Whether a regular file with this path is what it was, as far as length and date say, as `get`
  /// decides it too; and no other run has begun to replace it: what that left is for the next one
  /// to take up.
  static func isThere(_ path: String, _ version: Version) -> Bool {
    var (status, other) = (stat(), stat())
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
      && Version(status) == version
      && [FileName.partSuffix, FileName.journalSuffix].allSatisfy { lstat(path + $0, &other) != 0 }
  }

  /// What tells a file from what it was.
  struct Version: Sendable, Equatable {
    let size: Int64
    /// Seconds since 1970.
    let modified: Double

    init(size: Int64, modified: Double) { (self.size, self.modified) = (size, modified) }

    init(_ status: stat) {
      self.init(size: Int64(status.st_size), modified: Double(status.modification) / 1e9)
    }
  }

  /// Nil if there is no such file.
  static func version(of path: String) -> Version? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    return Version(status)
  }

  static func error(_ path: String, _ what: String, _ number: Int32) -> TransferError {
    TransferError(
      [ENOSPC, EDQUOT].contains(number) ? .diskFull : .io,
      "the manifest \(path) \(what): \(SystemError.text(number))")
  }
}
