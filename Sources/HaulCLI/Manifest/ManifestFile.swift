import HaulCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A manifest on the disk: it is read once, and then only appended to. Several runs may append to
/// it at the same time, because each writes whole lines.
final class ManifestFile {
  private let descriptor: Int32
  let path: String
  /// Whether a run was ended in the midst of its last line.
  private var needsLineBreak: Bool

  /// Opens it, or makes it.
  /// - Parameter take: gets each line without its line break.
  init(_ path: String, take: (ArraySlice<UInt8>) -> Void) throws(TransferError) {
    self.path = path
    // A link there may be another user's, and lead to a file of this one.
    descriptor = try Self.opened(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW)
    do throws(TransferError) {
      var status = stat()
      guard fstat(descriptor, &status) == 0, status.st_uid == geteuid() else {
        throw TransferError(
          .permissionDenied, "the manifest \(path) belongs to another user",
          advice: "it would say what is left out; name another file")
      }
      needsLineBreak = try !Self.readLines(descriptor, path, take)
    } catch {
      _ = close(descriptor)  // nothing was written
      throw error
    }
  }

  /// Passes each line of a manifest to `take`.
  /// - Throws: `io`.
  static func forEachLine(
    of path: String, _ take: (ArraySlice<UInt8>) -> Void
  ) throws(TransferError) {
    let descriptor = try opened(path, O_RDONLY)
    defer { _ = close(descriptor) }  // nothing was written
    _ = try readLines(descriptor, path, take)
  }

  private static func opened(_ path: String, _ flags: Int32) throws(TransferError) -> Int32 {
    let descriptor = open(path, flags | O_CLOEXEC | O_NONBLOCK, 0o666)
    guard descriptor >= 0 else { throw error(path, "cannot be opened", errno) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      _ = close(descriptor)  // nothing was written
      throw TransferError(.notARegularFile, "the manifest \(path) is no regular file")
    }
    return descriptor
  }

  deinit { _ = close(descriptor) }  // `finish` has synced it

  /// - Returns: whether the last line has its line break.
  private static func readLines(
    _ descriptor: Int32, _ path: String, _ take: (ArraySlice<UInt8>) -> Void
  ) throws(TransferError) -> Bool {
    var (buffer, rest) = ([UInt8](repeating: 0, count: 1 << 20), [UInt8]())
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw error(path, "cannot be read", errno) }
      guard count > 0 else { return rest.isEmpty }
      var lines = buffer[..<count]
      while let end = lines.firstIndex(of: 0x0A) {
        if rest.isEmpty {
          take(lines[..<end])
        } else {
          take((rest + lines[..<end])[...])
          rest = []
        }
        lines = lines[(end + 1)...]
      }
      rest += lines
    }
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

  /// Whether a regular file has this path and length.
  static func isThere(_ path: String, bytes: Int64) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
      && status.st_size == bytes
  }

  private static func error(_ path: String, _ what: String, _ number: Int32) -> TransferError {
    TransferError(.io, "the manifest \(path) \(what): \(SystemError.text(number))")
  }
}
