extension UnsafeRawBufferPointer {
  /// Two lower-case hexadecimal digits for each byte.
  package var hexDigits: String {
    String(unsafeUninitializedCapacity: 2 * count) { digits in
      for (index, byte) in enumerated() {
        digits[2 * index] = Self.digit(byte >> 4)
        digits[2 * index + 1] = Self.digit(byte & 15)
      }
      return 2 * count
    }
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value
  }
}

extension Sequence<UInt8> {
  /// Two lower-case hexadecimal digits for each byte. Bytes that are in one piece are many times
  /// faster as an `UnsafeRawBufferPointer`.
  package var hexDigits: String {
    Array(self).withUnsafeBytes { $0.hexDigits }
  }
}

extension UInt64 {
  /// The number that up to 16 hexadecimal digits write; nil for other bytes.
  package init?(hexDigits: Slice<UnsafeRawBufferPointer>) {
    self = 0
    // A loop over the slice takes three times as long.
    for digit in UnsafeRawBufferPointer(rebasing: hexDigits) {
      guard let value = PercentCoding.nibble(digit), self >> 60 == 0 else { return nil }
      self = self << 4 | UInt64(value)
    }
  }

  /// 16 lower-case hexadecimal digits.
  package var hexDigits: String {
    withUnsafeBytes(of: bigEndian) { $0.hexDigits }
  }
}
