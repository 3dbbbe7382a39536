import Crypto
package import HaulCore

/// A digest of any algorithm that Haul knows, as it goes along.
package struct RunningDigest: Sendable {
  private enum State: Sendable {
    case sha256(SHA256)
    case sha384(SHA384)
    case sha512(SHA512)
    case sha1(Insecure.SHA1)
    case md5(Insecure.MD5)
    case crc32c(CRC32C)
  }

  package let algorithm: Checksum.Algorithm
  private var state: State

  package init(_ algorithm: Checksum.Algorithm) {
    self.algorithm = algorithm
    switch algorithm {
    case .sha256: state = .sha256(SHA256())
    case .sha384: state = .sha384(SHA384())
    case .sha512: state = .sha512(SHA512())
    case .sha1: state = .sha1(Insecure.SHA1())
    case .md5: state = .md5(Insecure.MD5())
    case .crc32c: state = .crc32c(CRC32C())
    }
  }

  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    switch state {
    case .sha256(var hash):
      hash.update(bufferPointer: bytes)
      state = .sha256(hash)
    case .sha384(var hash):
      hash.update(bufferPointer: bytes)
      state = .sha384(hash)
    case .sha512(var hash):
      hash.update(bufferPointer: bytes)
      state = .sha512(hash)
    case .sha1(var hash):
      hash.update(bufferPointer: bytes)
      state = .sha1(hash)
    case .md5(var hash):
      hash.update(bufferPointer: bytes)
      state = .md5(hash)
    case .crc32c(var hash):
      hash.update(bytes)
      state = .crc32c(hash)
    }
  }

  /// Of everything so far; nil only when an algorithm has another length than its name says.
  package var checksum: Checksum? {
    let bytes: [UInt8] =
      switch state {
      case .sha256(let hash): Array(hash.finalize())
      case .sha384(let hash): Array(hash.finalize())
      case .sha512(let hash): Array(hash.finalize())
      case .sha1(let hash): Array(hash.finalize())
      case .md5(let hash): Array(hash.finalize())
      case .crc32c(let hash): hash.value.bigEndianBytes
      }
    return Checksum(algorithm, bytes: bytes)
  }
}

extension UInt32 {
  fileprivate var bigEndianBytes: [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: self >> UInt32($0)) }
  }
}
