import Crypto
package import HaulCore

/// Incremental digests of the same bytes, with any algorithms that Haul knows.
package struct IncrementalDigest: Sendable {
  package let algorithms: [Checksum.Algorithm]
  private var states: [State]

  package init(_ algorithms: [Checksum.Algorithm]) {
    self.algorithms = algorithms
    states = algorithms.map { State($0) }
  }

  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    for index in states.indices { states[index].update(bytes) }
  }

  /// The digests of all bytes so far, in the order of `algorithms`.
  package var checksums: [Checksum] {
    // A digest of the wrong length would be omitted, and verification would fail.
    zip(algorithms, states).compactMap { Checksum($0, bytes: $1.bytes) }
  }
}

private enum State: Sendable {
  case sha256(SHA256)
  case sha384(SHA384)
  case sha512(SHA512)
  case sha1(Insecure.SHA1)
  case md5(Insecure.MD5)
  case crc32c(CRC32C)
  case crc64nvme(CRC64NVME)

  init(_ algorithm: Checksum.Algorithm) {
    switch algorithm {
    case .sha256: self = .sha256(SHA256())
    case .sha384: self = .sha384(SHA384())
    case .sha512: self = .sha512(SHA512())
    case .sha1: self = .sha1(Insecure.SHA1())
    case .md5: self = .md5(Insecure.MD5())
    case .crc32c: self = .crc32c(CRC32C())
    case .crc64nvme: self = .crc64nvme(CRC64NVME())
    }
  }

  mutating func update(_ bytes: UnsafeRawBufferPointer) {
    switch self {
    case .sha256(var hash):
      hash.update(bufferPointer: bytes)
      self = .sha256(hash)
    case .sha384(var hash):
      hash.update(bufferPointer: bytes)
      self = .sha384(hash)
    case .sha512(var hash):
      hash.update(bufferPointer: bytes)
      self = .sha512(hash)
    case .sha1(var hash):
      hash.update(bufferPointer: bytes)
      self = .sha1(hash)
    case .md5(var hash):
      hash.update(bufferPointer: bytes)
      self = .md5(hash)
    case .crc32c(var hash):
      hash.update(bytes)
      self = .crc32c(hash)
    case .crc64nvme(var hash):
      hash.update(bytes)
      self = .crc64nvme(hash)
    }
  }

  var bytes: [UInt8] {
    switch self {
    case .sha256(let hash): Array(hash.finalize())
    case .sha384(let hash): Array(hash.finalize())
    case .sha512(let hash): Array(hash.finalize())
    case .sha1(let hash): Array(hash.finalize())
    case .md5(let hash): Array(hash.finalize())
    case .crc32c(let hash): hash.value.bigEndianBytes
    case .crc64nvme(let hash): hash.value.bigEndianBytes
    }
  }
}

extension FixedWidthInteger {
  fileprivate var bigEndianBytes: [UInt8] {
    stride(from: Self.bitWidth - 8, through: 0, by: -8).map {
      UInt8(truncatingIfNeeded: self >> $0)
    }
  }
}
