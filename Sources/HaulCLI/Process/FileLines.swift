import HaulCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Reads a file of any length line by line.
enum FileLines {
  /// Passes each line to `take`, without its line break.
  /// - Parameter failure: what a read fails with, from its error number.
  /// - Returns: what follows the last line break.
  static func forEach<Failure: Error>(
    of descriptor: Int32, failure: (Int32) -> Failure,
    _ take: (ArraySlice<UInt8>) throws(Failure) -> Void
  ) throws(Failure) -> [UInt8] {
    var (buffer, rest) = ([UInt8](repeating: 0, count: 1 << 20), [UInt8]())
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw failure(errno) }
      guard count > 0 else { return rest }
      var lines = buffer[..<count]
      while let end = lines.firstIndex(of: 0x0A) {
        if rest.isEmpty {
          try take(lines[..<end])
        } else {
          try take((rest + lines[..<end])[...])
          rest = []
        }
        lines = lines[(end + 1)...]
      }
      rest += lines
    }
  }
}
