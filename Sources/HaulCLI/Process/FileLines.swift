import HaulCore
import HaulLibC

/// Reads a file of any length: line by line, or a piece of it.
enum FileLines {
  private static let pieceSize = 1 << 20

  /// Passes each line to `take`, without its line break.
  /// - Parameter read: gives so many bytes from an offset; fewer only at the end.
  /// - Returns: what follows the last line break.
  static func forEach<Failure: Error>(
    reading read: (Int64, Int) throws(Failure) -> [UInt8],
    _ take: (ArraySlice<UInt8>) throws(Failure) -> Void
  ) throws(Failure) -> [UInt8] {
    var (offset, rest) = (Int64(0), [UInt8]())
    while true {
      let buffer = try read(offset, pieceSize)
      guard !buffer.isEmpty else { return rest }
      offset += Int64(buffer.count)
      var start = 0
      while let end = lineBreak(in: buffer, start..<buffer.count) {
        if rest.isEmpty {
          try take(buffer[start..<end])
        } else {
          try take((rest + buffer[start..<end])[...])
          rest = []
        }
        start = end + 1
      }
      rest += buffer[start...]
    }
  }

  /// By the C library: a loop over a slice is many times slower.
  static func lineBreak(in bytes: [UInt8], _ range: Range<Int>) -> Int? {
    bytes.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress,
        let found = memchr(base + range.lowerBound, 0x0A, range.count)
      else { return nil }
      return UnsafeRawPointer(found) - base
    }
  }

  /// So many bytes from an offset; fewer only at the end. Nil if a read fails: `errno` says why.
  static func bytes(of descriptor: Int32, _ offset: Int64, _ count: Int) -> [UInt8]? {
    var hasFailed = false
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let more = pread(
          descriptor, buffer.baseAddress?.advanced(by: filled), count - filled,
          off_t(offset) + filled)
        if more < 0, errno == EINTR { continue }
        hasFailed = more < 0
        guard more > 0 else { return }
        filled += more
      }
    }
    return hasFailed ? nil : bytes
  }

  /// Writes all bytes at an offset.
  /// - Returns: false if that fails: `errno` says why.
  static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32, at offset: Int64) -> Bool {
    var (rest, offset) = (bytes, off_t(offset))
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, offset) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return false }
      (rest, offset) = (rest.dropFirst(count), offset + off_t(count))
    }
    return true
  }
}
