extension Sequence<UInt8> {
  /// Two lower-case hexadecimal digits for each byte.
  package var hexDigits: String {
    // The loop is over an array: over any sequence it is many times slower.
    let bytes = Array(self)
    var digits: [UInt8] = []
    digits.reserveCapacity(2 * bytes.count)
    for byte in bytes {
      digits.append(Self.digit(byte >> 4))
      digits.append(Self.digit(byte & 15))
    }
    return String(decoding: digits, as: UTF8.self)
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value
  }
}

extension UInt64 {
  /// The number that up to 16 hexadecimal digits write; nil for other bytes.
  package init?(hexDigits: Slice<UnsafeRawBufferPointer>) {
    self = 0
    for digit in hexDigits {
      guard let value = PercentCoding.nibble(digit), self >> 60 == 0 else { return nil }
      self = self << 4 | UInt64(value)
    }
  }

  /// 16 lower-case hexadecimal digits.
  package var hexDigits: String {
    withUnsafeBytes(of: bigEndian) { $0.hexDigits }
  }
}
