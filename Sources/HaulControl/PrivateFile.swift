import HaulCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A small file that only its owner can read.
struct PrivateFile {
  let path: String

  private static let maximumSize = 1 << 20

  /// Nil when there is none.
  /// - Throws: `permission-denied` when other users can read it; `io`.
  func read() throws(TransferError) -> [UInt8]? {
    let file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard file >= 0 else {
      if errno == ENOENT { return nil }
      throw failure("read")
    }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0 else { throw failure("read") }
    guard status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
      throw TransferError(
        .permissionDenied, "other users can read \(path)", advice: "run: chmod 600 \(path)")
    }
    var bytes = [UInt8](repeating: 0, count: min(Int(status.st_size), Self.maximumSize))
    var count = 0
    while count < bytes.count {
      let more = bytes.withUnsafeMutableBytes { readBytes(file, .init(rebasing: $0[count...])) }
      guard more > 0 else { break }
      count += more
    }
    return Array(bytes.prefix(count))
  }

  /// Replaces the whole file: after a crash it has the old bytes or the new ones.
  /// - Throws: `io`, `disk-full`.
  func write(_ bytes: [UInt8]) throws(TransferError) {
    let new = "\(path).new"
    unlink(new)
    let file = open(new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw failure("write") }
    defer { close(file) }
    guard writeBytes(file, bytes) == bytes.count, fsync(file) == 0, rename(new, path) == 0 else {
      throw failure("write")
    }
  }

  private func failure(_ verb: String) -> TransferError {
    let code: TransferError.Code = errno == ENOSPC || errno == EDQUOT ? .diskFull : .io
    return TransferError(code, "cannot \(verb) \(path): \(SystemError.text(errno))")
  }
}

private func readBytes(_ file: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
  read(file, buffer.baseAddress, buffer.count)
}

private func writeBytes(_ file: Int32, _ bytes: [UInt8]) -> Int {
  write(file, bytes, bytes.count)
}
