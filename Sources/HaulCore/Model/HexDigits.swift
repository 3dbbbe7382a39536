extension Sequence<UInt8> {
  /// Two lower-case hexadecimal digits for each byte.
  package var hexDigits: String {
    map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}

extension UInt64 {
  /// 16 lower-case hexadecimal digits.
  package var hexDigits: String {
    let digits = String(self, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
