import CHaulSystem

/// An incremental CRC32C (RFC 3720, appendix B.4).
package struct CRC32C: Hashable, Sendable {
  package private(set) var value: UInt32

  package init(continuing value: UInt32 = 0) { self.value = value }

  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    value = haul_crc32c(value, bytes.baseAddress, bytes.count)
  }

  package mutating func update(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { update($0) }
  }

  package static func of(_ bytes: [UInt8]) -> UInt32 {
    var crc = CRC32C()
    crc.update(bytes)
    return crc.value
  }

  /// The implementation for processors without the instruction.
  package static func portable(_ bytes: [UInt8], continuing value: UInt32 = 0) -> UInt32 {
    bytes.withUnsafeBytes { haul_crc32c_portable(value, $0.baseAddress, $0.count) }
  }
}
