import FoundationEssentials

/// CRC32C values (RFC 3720, appendix B.4) of parts of a file.
extension Checksum {
  /// The CRC32C of some bytes and of the bytes after them, without reading either.
  /// - Parameters:
  ///   - next: the CRC32C of the bytes after them.
  ///   - length: how many these are.
  /// - Returns: nil if one of both is no CRC32C.
  package func joined(with next: Checksum, length: Int64) -> Checksum? {
    guard let register, let other = next.register else { return nil }
    // The CRC is linear: the later bytes multiply the register of the earlier ones.
    return Checksum(Polynomial.product(register, Polynomial.power(ofBytes: length)) ^ other)
  }

  /// The digest in Base64, as the fields of S3 have it.
  var base64: String { Data(bytes).base64EncodedString() }

  /// A digest in Base64; nil if it is none.
  init?(_ algorithm: Algorithm, base64: String) {
    guard let data = Data(base64Encoded: base64) else { return nil }
    self.init(algorithm, bytes: Array(data))
  }

  private init?(_ register: UInt32) {
    self.init(.crc32c, bytes: [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: register >> $0) })
  }

  private var register: UInt32? {
    algorithm == .crc32c ? bytes.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } : nil
  }
}

/// Polynomials over one bit, modulo that of CRC32C. The highest bit is the coefficient of x^0.
private enum Polynomial {
  private static let modulus: UInt32 = 0x82F6_3B78
  private static let one: UInt32 = 1 << 31

  static func product(_ left: UInt32, _ right: UInt32) -> UInt32 {
    var (sum, term, rest) = (UInt32(0), right, left)
    while rest != 0 {
      if rest & one != 0 { sum ^= term }
      rest <<= 1
      // Times x.
      term = term & 1 == 0 ? term >> 1 : term >> 1 ^ modulus
    }
    return sum
  }

  /// What so many zero bytes multiply a register by: x^(8 · count), by squaring.
  static func power(ofBytes count: Int64) -> UInt32 {
    var (power, factor, rest) = (one, one >> 8, count)
    while rest > 0 {
      if rest & 1 == 1 { power = product(power, factor) }
      factor = product(factor, factor)
      rest >>= 1
    }
    return power
  }
}
