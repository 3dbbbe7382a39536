import HaulCore
import HaulFiles
import HaulLibC

/// The directory of a store and its files, which are private to the user.
///
/// The database is never opened here while it is in use: closing it would release SQLite's locks in
/// this process.
struct StoreDirectory: Sendable {
  let path: String

  static let databaseName = "queue.sqlite"
  static let lockName = "queue.lock"
  /// The files that SQLite creates beside a database: its log, the log's index, a rollback journal.
  static let companions = ["-wal", "-shm", "-journal"]

  var database: String { "\(path)/\(Self.databaseName)" }
  var lock: String { "\(path)/\(Self.lockName)" }

  /// Whether there is a database, or something in its place.
  var hasDatabase: Bool {
    var status = stat()
    return lstat(database, &status) == 0
  }

  /// Creates the directory if it is missing, and checks that others cannot change its files.
  /// - Throws: `permission-denied`, `io`, `disk-full`.
  func prepareDirectory() throws(TransferError) {
    try makeDirectories()
    var status = stat()
    guard stat(path, &status) == 0 else { throw failure("check the directory") }
    guard status.st_mode & S_IFMT == S_IFDIR else {
      throw TransferError(
        .io, "\(path) is not a directory", advice: "give the queue one of its own")
    }
    try check(status, path)
  }

  /// Whether a file exists. A file that others could change is refused; one that they could read is
  /// made private.
  /// - Throws: `permission-denied`, `io`.
  func checkFile(_ file: String) throws(TransferError) -> Bool {
    var status = stat()
    guard lstat(file, &status) == 0 else {
      guard errno == ENOENT else { throw failure("check \(file)") }
      return false
    }
    guard status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 1 else {
      throw TransferError(
        .permissionDenied,
        "\(file) is a link or not a regular file",
        advice: "move it away: the queue creates its own")
    }
    try check(status, file)
    if status.st_mode & 0o777 != 0o600, chmod(file, 0o600) != 0 {
      throw failure("make \(file) private")
    }
    return true
  }

  /// Whether an existing file has no bytes.
  /// - Throws: `io`, `permission-denied`.
  func isEmpty(_ file: String) throws(TransferError) -> Bool {
    var status = stat()
    guard lstat(file, &status) == 0 else { throw failure("check \(file)") }
    return status.st_size == 0
  }

  private func check(_ status: stat, _ file: String) throws(TransferError) {
    guard status.st_uid == geteuid() else {
      throw TransferError(
        .permissionDenied,
        "\(file) belongs to another user", advice: "give the queue a directory of your own")
    }
    guard status.st_mode & 0o022 == 0 else {
      throw TransferError(
        .permissionDenied,
        "other users may write to \(file) and change the queue",
        advice: "run: chmod go-w '\(file)'")
    }
  }

  /// Creates an empty database that only its owner may read; SQLite gives its companions the same
  /// mode.
  func makeDatabase() throws(TransferError) {
    let file = open(database, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw failure("make \(database)") }
    close(file)
    try sync(path)
  }

  /// A file in its place is refused later.
  private func makeDirectories() throws(TransferError) {
    var status = stat()
    let missing = path.pathPrefixes.filter { stat($0, &status) != 0 }
    do throws(DiskError) {
      try POSIXDisk.makeOwnDirectory(path)
    } catch {
      if error.errno == ENOTDIR, stat(path, &status) == 0 { return }
      throw failure("make the directory \(path)", error.errno)
    }
    for prefix in missing { try sync(prefix.pathParts.directory) }
  }

  /// Syncs the names in a directory.
  func sync(_ directory: String) throws(TransferError) {
    let file = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard file >= 0 else { throw failure("open the directory \(directory)") }
    defer { close(file) }
    guard fsync(file) == 0 || errno == EINVAL else {
      throw failure("sync the directory \(directory)")
    }
  }

  /// The error for `errno`.
  func failure(_ action: String, _ number: Int32 = errno) -> TransferError {
    let reason = "cannot \(action): \(SystemError.text(number))"
    return switch number {
    case ENOSPC, EDQUOT:
      TransferError(.diskFull, reason, advice: "free some space and try again")
    case EACCES, EPERM, EROFS:
      TransferError(
        .permissionDenied, reason, advice: "give the queue a directory that you may write to")
    default: TransferError(.io, reason, advice: "give the queue a directory on a local disk")
    }
  }
}
