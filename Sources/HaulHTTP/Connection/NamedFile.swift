package import HaulCore
import HaulLibC

/// A file that an option names, to be read.
///
/// In a directory that others may write to, the name can be a pipe of another user, and opening or
/// reading it would wait for ever. So nothing is waited for before its owner is known.
package enum NamedFile {
  /// The descriptor, which the caller closes; nil if there is no such file.
  /// - Parameter isRegular: whether it must be a regular file, which nothing waits for.
  /// - Throws: `source-unreadable`, also for a pipe, socket or terminal of another user.
  package static func open(
    _ path: String, isRegular: Bool = false
  ) throws(TransferError) -> Int32? {
    try path.checkPath()
    let descriptor = HaulLibC.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else {
      if errno == ENOENT || errno == ENOTDIR { return nil }
      throw unreadable(SystemError.text(errno))
    }
    do throws(TransferError) {
      try accept(descriptor, isGiven: isGiven(path), isRegular: isRegular)
    } catch {
      _ = close(descriptor)  // nothing was written
      throw error
    }
    return descriptor
  }

  /// All bytes of a file, as far as a limit; nil if there is no such file.
  static func bytes(of path: String, atMost limit: Int) throws(TransferError) -> [UInt8]? {
    guard let descriptor = try open(path) else { return nil }
    defer { _ = close(descriptor) }  // nothing was written
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw unreadable(SystemError.text(errno)) }
      guard count > 0 else { return bytes }
      bytes += buffer[..<count]
      guard bytes.count <= limit else { throw unreadable("it is too long") }
    }
  }

  /// Whether a path names a descriptor that this program was started with, as a shell writes for
  /// `<(command)`. The user chose it, so it may belong to another user.
  private static func isGiven(_ path: String) -> Bool {
    ["/dev/fd/", "/proc/self/fd/"].contains(where: path.hasBytePrefix)
      || path.isByteEqual("/dev/stdin")
  }

  private static func accept(
    _ descriptor: Int32, isGiven: Bool, isRegular: Bool
  ) throws(TransferError) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw unreadable(SystemError.text(errno)) }
    let kind = status.st_mode & S_IFMT
    guard kind != S_IFREG, kind != S_IFDIR else { return }
    guard !isRegular else { throw unreadable("it is no regular file") }
    guard isGiven || status.st_uid == geteuid() || status.st_uid == 0 else {
      throw unreadable("it is a pipe or a device of another user")
    }
    let flags = fcntl(descriptor, F_GETFL)
    guard flags >= 0, fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK) == 0 else {
      throw unreadable(SystemError.text(errno))
    }
    // A pipe that nobody has opened for writing yet is not at its end.
    guard kind == S_IFIFO else { return }
    var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    while poll(&waiting, 1, -1) < 0 {
      guard errno == EINTR else { throw unreadable(SystemError.text(errno)) }
    }
  }

  private static func unreadable(_ reason: String) -> TransferError {
    TransferError(.sourceUnreadable, "the file cannot be read: \(reason)")
  }
}
