import FoundationEssentials
import HaulControl
import HaulCore
import HaulLibC

/// Reads what the daemon keeps about its transfers: what is there, then what is added. What is no
/// entry, such as a part of a line, is skipped.
struct LogReader: ~Copyable {
  private let files: LogFiles
  private var descriptor: Int32 = -1
  /// Where the next line begins.
  private var offset: Int64 = 0

  init(_ files: LogFiles) { self.files = files }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// The entries that were added since the last call, the oldest first; of the first call, all.
  /// - Throws: `io` for a file that cannot be read.
  mutating func next() throws(TransferError) -> [LogEntry] {
    var entries: [LogEntry] = []
    if descriptor < 0 {
      if let former = try Self.opened(files.former) {
        defer { close(former) }
        _ = try Self.read(former, from: 0, &entries)
      }
      descriptor = try Self.opened(files.path) ?? -1
    }
    guard descriptor >= 0 else { return entries }
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

  private func wasReplaced() throws(TransferError) -> Bool {
    var (own, present) = (stat(), stat())
    guard fstat(descriptor, &own) == 0 else { throw Self.failure(files.path, errno) }
    guard lstat(files.path, &present) == 0 else { return false }
    return (own.st_dev, own.st_ino) != (present.st_dev, present.st_ino)
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
