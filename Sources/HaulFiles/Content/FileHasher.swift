package import HaulCore
import HaulLibC

/// Digests of bytes on disk, read from the file.
package enum FileHasher {
  /// Bytes read at a time.
  static let blockSize = 1 << 20

  /// Hashes [0, `length`) of the file.
  /// - Throws: `cancelled`; `length-mismatch` if the file is shorter; `io`.
  package static func digests(
    _ algorithms: [Checksum.Algorithm], of file: any DiskFile, length: Int64,
    isCancelled: () -> Bool = { false }
  ) throws(TransferError) -> [Checksum] {
    var state = IncrementalDigest(algorithms)
    try FileReader.forEachBlock(of: file, in: 0..<length, isCancelled: isCancelled) { bytes in
      state.update(bytes)
    }
    return state.checksums
  }
}

/// Reads ranges of a file through one buffer.
enum FileReader {
  /// Passes the bytes of `range` to the closure, in order, at most 1 MiB at a time.
  static func forEachBlock(
    of file: any DiskFile, in range: ByteRange, isCancelled: () -> Bool = { false },
    _ body: (UnsafeRawBufferPointer) -> Void
  ) throws(TransferError) {
    let size = Int(min(range.length, Int64(FileHasher.blockSize)))
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 64)
    defer { buffer.deallocate() }
    var offset = range.lowerBound
    while offset < range.upperBound {
      if isCancelled() { throw TransferError(.cancelled, "cancelled while reading the file") }
      let wanted = Int(min(range.upperBound - offset, Int64(size)))
      let count = try mapping(
        "read the part file",
        file.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]), at: offset))
      guard count > 0 else {
        throw TransferError(.lengthMismatch, "the file is shorter than what was received")
      }
      body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      offset += Int64(count)
    }
  }

  /// The contents of a small file.
  static func contents(of file: any DiskFile) throws(DiskError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Int(try file.status().size))
    var filled = 0
    while filled < bytes.count {
      let count = try read(file, into: &bytes, from: filled)
      if count == 0 { break }
      filled += count
    }
    return Array(bytes.prefix(filled))
  }

  private static func read(_ file: any DiskFile, into bytes: inout [UInt8], from start: Int)
    throws(DiskError) -> Int
  {
    let result: Result<Int, DiskError> = bytes.withUnsafeMutableBytes { buffer in
      Result { () throws(DiskError) in
        try file.read(
          into: UnsafeMutableRawBufferPointer(rebasing: buffer[start...]), at: Int64(start))
      }
    }
    return try result.get()
  }
}
