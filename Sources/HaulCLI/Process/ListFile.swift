import HaulCore
import HaulLibC
import Synchronization

/// The bytes of a list that may be a pipe, change while it is worked off, or come from a server:
/// what was read of it can be read again. Up to 1 MiB is in memory, and more in a file without a
/// name.
final class ListFile: Sendable {
  private struct State {
    var size: Int64 = 0
    var isWhole = false
    /// Empty once they are in the copy.
    var bytes: [UInt8] = []
    var copy: Int32?
  }

  private static let chunkSize = 64 << 10
  private static let mostInMemory = 1 << 20

  /// Nil if the bytes are appended.
  private let descriptor: Int32?
  /// Where the copy is made, if that can be.
  private let directories: [String]
  private let state = Mutex(State())

  /// - Parameter descriptor: open for reading; it is closed, unless it is standard input. Nil if
  ///   the bytes are appended.
  init(_ descriptor: Int32?, _ environment: [String: String]) {
    self.descriptor = descriptor
    // The second one is on a disk, also where the third one is in memory.
    directories = [environment["TMPDIR"] ?? "", "/var/tmp", "/tmp"].filter { !$0.isEmpty }
  }

  deinit {
    // Nothing was written to the one, and nobody reads the other one again.
    if let descriptor, descriptor != STDIN_FILENO { _ = close(descriptor) }
    if let copy = state.withLock({ $0.copy }) { _ = close(copy) }
  }

  /// So many bytes from an offset; fewer only at the end.
  func read(_ offset: Int64, _ count: Int) throws(UsageError) -> [UInt8] {
    try state.withLock { (state) throws(UsageError) in
      while !state.isWhole, state.size < offset + Int64(count) { try readMore(&state) }
      guard let copy = state.copy else {
        return Array(state.bytes.dropFirst(Int(offset)).prefix(count))
      }
      guard let bytes = FileLines.bytes(of: copy, offset, count) else {
        throw UsageError("its copy cannot be read: \(SystemError.text(errno))")
      }
      return bytes
    }
  }

  /// Adds bytes at the end.
  func append(_ bytes: [UInt8]) throws(UsageError) {
    try state.withLock { (state) throws(UsageError) in try take(bytes[...], &state) }
  }

  private func readMore(_ state: inout State) throws(UsageError) {
    guard let descriptor else {
      state.isWhole = true
      return
    }
    var buffer = [UInt8](repeating: 0, count: Self.chunkSize)
    let count = Self.repeated { systemRead(descriptor, &buffer) }
    guard count >= 0 else {
      throw UsageError("the file cannot be read: \(SystemError.text(errno))")
    }
    guard count > 0 else {
      state.isWhole = true
      return
    }
    try take(buffer[..<count], &state)
  }

  private func take(_ bytes: ArraySlice<UInt8>, _ state: inout State) throws(UsageError) {
    let limit = CommandSources.Purpose.list.maximumSize
    guard state.size + Int64(bytes.count) <= limit else {
      throw UsageError("the file is longer than \(limit >> 20) MiB")
    }
    if state.copy == nil, state.bytes.count + bytes.count > Self.mostInMemory {
      let copy = try makeCopy()
      state.copy = copy
      try Self.write(state.bytes[...], to: copy, at: 0)
      state.bytes = []
    }
    if let copy = state.copy {
      try Self.write(bytes, to: copy, at: state.size)
    } else {
      state.bytes += bytes
    }
    state.size += Int64(bytes.count)
  }

  /// A file that only this process can open, as lists may have secrets.
  private func makeCopy() throws(UsageError) -> Int32 {
    var number: Int32 = 0
    for directory in directories {
      var path = Array("\(directory)/haul-list.XXXXXX".utf8CString)
      let copy = mkstemp(&path)
      guard copy >= 0 else {
        number = errno
        continue
      }
      _ = fcntl(copy, F_SETFD, FD_CLOEXEC)  // cannot fail for an open descriptor
      _ = unlink(path)  // if it stays, it can be read by this user only
      return copy
    }
    throw UsageError("its copy in \(directories[0]) cannot be made: \(SystemError.text(number))")
  }

  private static func write(
    _ bytes: ArraySlice<UInt8>, to copy: Int32, at offset: Int64
  ) throws(UsageError) {
    guard FileLines.write(bytes, to: copy, at: offset) else {
      throw UsageError("its copy cannot be written: \(SystemError.text(errno))")
    }
  }

  /// Calls again what a signal has interrupted.
  private static func repeated(_ call: () -> Int) -> Int {
    while true {
      let count = call()
      if count >= 0 || errno != EINTR { return count }
    }
  }
}

/// What a server has sent, as a part of a file.
struct SentText: Sendable {
  let file: ListFile
  let range: Range<Int64>

  /// So many bytes from an offset; fewer only at the end.
  func read(_ offset: Int64, _ count: Int) throws(UsageError) -> [UInt8] {
    let left = max(0, range.upperBound - range.lowerBound - offset)
    return try file.read(range.lowerBound + offset, Int(min(Int64(count), left)))
  }
}

private func systemRead(_ descriptor: Int32, _ buffer: inout [UInt8]) -> Int {
  read(descriptor, &buffer, buffer.count)
}
