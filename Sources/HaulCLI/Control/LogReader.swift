import FoundationEssentials
package import HaulControl
package import HaulCore
import HaulLibC

/// Reads what the daemon keeps about its transfers: what is there, then what is added. What is no
/// entry, such as a part of a line, is skipped.
package struct LogReader: ~Copyable {
  private let files: LogFiles
  private var hasReadFormer = false
  private var descriptor: Int32 = -1
  /// Where the next line begins.
  private var offset: Int64 = 0

  package init(_ files: LogFiles) { self.files = files }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// The entries that were added since the last call, the oldest first; of the first call, all.
  /// - Throws: `io` for a file that cannot be read.
  package mutating func next() throws(TransferError) -> [LogEntry] {
    var entries: [LogEntry] = []
    if descriptor < 0 { descriptor = try Self.opened(files.path) ?? -1 }
    if !hasReadFormer, let former = try Self.opened(files.former) {
      defer { close(former) }
      // Unless the daemon has begun another file since this one was opened.
      if !isOwn(former) { _ = try Self.read(former, from: 0, &entries) }
    }
    hasReadFormer = true
    guard descriptor >= 0 else { return entries }
    try noteIfEmptied()
    offset = try Self.read(descriptor, from: offset, &entries)
    // The daemon has begun another file; what it wrote to this one before has been read by then.
    while try wasReplaced(), let file = try Self.opened(files.path) {
      _ = try Self.read(descriptor, from: offset, &entries)
      close(descriptor)
      descriptor = file
      offset = try Self.read(file, from: 0, &entries)
    }
    return entries
  }

  /// Somebody has emptied the file to forget it: it is written again from its beginning.
  private mutating func noteIfEmptied() throws(TransferError) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw Self.failure(files.path, errno) }
    if status.st_size < offset { offset = 0 }
  }

  private func wasReplaced() throws(TransferError) -> Bool {
    guard let present = try Self.opened(files.path) else { return false }
    defer { close(present) }
    return !isOwn(present)
  }

  /// Whether it is the file that is being read.
  private func isOwn(_ other: Int32) -> Bool {
    var (own, status) = (stat(), stat())
    return fstat(descriptor, &own) == 0 && fstat(other, &status) == 0
      && (own.st_dev, own.st_ino) == (status.st_dev, status.st_ino)
  }

  /// Nil if there is no such file.
  private static func opened(_ path: String) throws(TransferError) -> Int32? {
    let file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    if file < 0, errno == ENOENT { return nil }
    guard file >= 0 else { throw failure(path, errno) }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(file)
      throw TransferError(.io, "\(path) is not a file")
    }
    return file
  }

  /// - Returns: where the next line begins.
  private static func read(
    _ file: Int32, from offset: Int64, _ entries: inout [LogEntry]
  ) throws(TransferError) -> Int64 {
    let decoder = JSONDecoder()
    var next = offset
    _ = try FileLines.forEach(
      reading: { (position, count) throws(TransferError) in
        guard let bytes = FileLines.bytes(of: file, offset + position, count) else {
          throw failure("the log", errno)
        }
        return bytes
      },
      { (line) throws(TransferError) in
        next += Int64(line.count) + 1
        if let entry = try? decoder.decode(LogEntry.self, from: Data(line)) {
          entries.append(entry)
        }
      })
    return next
  }

  private static func failure(_ path: String, _ number: Int32) -> TransferError {
    TransferError(.io, "cannot read \(path): \(SystemError.text(number))")
  }
}
