import CHaulSystem

/// An incremental CRC-64/NVME (NVM Express, NVM Command Set Specification).
package struct CRC64NVME: Hashable, Sendable {
  package private(set) var value: UInt64 = 0

  package init() {}

  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    value = haul_crc64nvme(value, bytes.baseAddress, bytes.count)
  }
}
