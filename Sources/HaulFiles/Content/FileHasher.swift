import Crypto
package import HaulCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The digest of what lies on the disk, read from the file and never from what passed by.
package enum FileHasher {
  /// Bytes read at a time.
  static let blockSize = 1 << 20

  /// Reads [0, `length`) of the file.
  /// - Throws: `cancelled`; `length-mismatch` when the file ends before; `io`.
  package static func digest(
    _ algorithm: Checksum.Algorithm, of file: any DiskFile, length: Int64,
    isCancelled: () -> Bool = { false }
  ) throws(TransferError) -> Checksum {
    var state = DigestState(algorithm)
    try FileReader.forEachBlock(of: file, in: 0..<length, isCancelled: isCancelled) { bytes in
      state.update(bytes)
    }
    guard let checksum = Checksum(algorithm, bytes: state.finish()) else {
      throw TransferError(.internal, "the digest has the wrong length")
    }
    return checksum
  }
}

/// One running digest of any algorithm that Haul knows.
private enum DigestState {
  case sha256(SHA256)
  case sha384(SHA384)
  case sha512(SHA512)
  case sha1(Insecure.SHA1)
  case md5(Insecure.MD5)
  case crc32c(CRC32C)

  init(_ algorithm: Checksum.Algorithm) {
    switch algorithm {
    case .sha256: self = .sha256(SHA256())
    case .sha384: self = .sha384(SHA384())
    case .sha512: self = .sha512(SHA512())
    case .sha1: self = .sha1(Insecure.SHA1())
    case .md5: self = .md5(Insecure.MD5())
    case .crc32c: self = .crc32c(CRC32C())
    }
  }

  mutating func update(_ bytes: UnsafeRawBufferPointer) {
    switch self {
    case .sha256(var state):
      state.update(bufferPointer: bytes)
      self = .sha256(state)
    case .sha384(var state):
      state.update(bufferPointer: bytes)
      self = .sha384(state)
    case .sha512(var state):
      state.update(bufferPointer: bytes)
      self = .sha512(state)
    case .sha1(var state):
      state.update(bufferPointer: bytes)
      self = .sha1(state)
    case .md5(var state):
      state.update(bufferPointer: bytes)
      self = .md5(state)
    case .crc32c(var state):
      state.update(bytes)
      self = .crc32c(state)
    }
  }

  func finish() -> [UInt8] {
    switch self {
    case .sha256(let state): Array(state.finalize())
    case .sha384(let state): Array(state.finalize())
    case .sha512(let state): Array(state.finalize())
    case .sha1(let state): Array(state.finalize())
    case .md5(let state): Array(state.finalize())
    case .crc32c(let state): state.value.bigEndianBytes
    }
  }
}

extension UInt32 {
  fileprivate var bigEndianBytes: [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: self >> UInt32($0)) }
  }
}

/// Reads stretches of a file through one buffer.
enum FileReader {
  /// Hands over the bytes of `range` in order, at most 1 MiB at a time.
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
      let count = try mapping("read the part file") { () throws(DiskError) in
        try file.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]), at: offset)
      }
      guard count > 0 else {
        throw TransferError(.lengthMismatch, "the file is shorter than what was received")
      }
      body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      offset += Int64(count)
    }
  }

  /// The whole of a small file.
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
