package import HaulControl
import HaulCore
import HaulFiles
import HaulKit
import HaulLibC
package import Logging

/// Appends to the files of what the daemon keeps about its transfers. They may lack the last lines
/// after a power cut, and what a full disk refuses.
package actor LogWriter {
  private let files: LogFiles
  private let logger: Logger
  private let io = BlockingIO()
  private var hasFailed = false

  package init(_ files: LogFiles, logger: Logger) { (self.files, self.logger) = (files, logger) }

  package func append(_ entries: [LogEntry]) async {
    guard !entries.isEmpty else { return }
    do {
      let lines = try entries.map { try StrictJSON.encode($0) }
        .filter { $0.count < LogFiles.longestLine }
      try await io.run { [files] () throws(TransferError) in
        try Self.append(lines.flatMap { Array($0) + [0x0A] }, to: files)
      }
      hasFailed = false
    } catch {
      // One line for a full disk, not one for each transfer.
      if !hasFailed { logger.error("\(files.path): \(error)") }
      hasFailed = true
    }
  }

  private static func append(_ bytes: [UInt8], to files: LogFiles) throws(TransferError) {
    var (file, length) = try opened(files.path)
    if length > LogFiles.longest {
      close(file)
      guard rename(files.path, files.former) == 0 else { throw failure() }
      (file, length) = try opened(files.path)
    }
    defer { close(file) }
    // A process that died may have left a part of a line.
    var last: UInt8 = 0x0A
    if length > 0 { _ = pread(file, &last, 1, off_t(length - 1)) }
    let all = (last == 0x0A ? [] : [0x0A]) + bytes
    guard all.withUnsafeBytes({ writeAll($0, to: file) }) else {
      let error = failure()
      // Nothing is cut in the middle; if this fails, a reader skips the part.
      _ = ftruncate(file, off_t(length))
      throw error
    }
  }

  /// Only a file of its own is used.
  private static func opened(_ path: String) throws(TransferError) -> (file: Int32, length: Int) {
    let flags = O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    let file = open(path, flags, 0o600)
    guard file >= 0 else { throw failure() }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      status.st_uid == geteuid()
    else {
      close(file)
      throw TransferError(.io, "it is not a file of this user", advice: "move it away")
    }
    return (file, Int(status.st_size))
  }

  private static func failure() -> TransferError {
    TransferError(.io, SystemError.text(errno))
  }
}
