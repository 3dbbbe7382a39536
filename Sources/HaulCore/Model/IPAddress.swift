/// An IPv4 or IPv6 address; never looks up names.
package struct IPAddress: Hashable, Sendable {
  /// 4 or 16 bytes, in network order.
  package let bytes: [UInt8]

  package var isIPv6: Bool { bytes.count == 16 }

  /// Reads `192.0.2.1`, `2001:db8::1` or `[2001:db8::1]`; nil for anything else.
  package init?(_ text: String) {
    let inBrackets = text.dropping(bytePrefix: "[")?.dropping(byteSuffix: "]")
    let bare = inBrackets ?? text[...]
    let isIPv6 = bare.firstByteIndex(of: ":") != nil
    guard let bytes = isIPv6 ? Self.version6(bare) : Self.version4(bare) else { return nil }
    if inBrackets != nil, bytes.count == 4 { return nil }
    self.bytes = bytes
  }

  /// Reads the host of an origin, which may have a zone.
  package init?(host: String) { self.init(String(host.prefix(beforeAnyOf: "%"))) }

  package init(bytes: [UInt8]) { self.bytes = bytes }

  /// Reads the other spellings of an IPv4 address that `inet_aton` and many programs read: fewer
  /// parts, in decimal, octal or hexadecimal digits, such as `127.1`.
  init?(number text: String) {
    let parts = text.byteSplit(separator: ".", omittingEmptySubsequences: false)
    let numbers = parts.compactMap(Self.number)
    guard (1...4).contains(parts.count), numbers.count == parts.count, let last = numbers.last,
      numbers.dropLast().allSatisfy({ $0 < 256 }), last < 1 << (8 * UInt64(5 - numbers.count))
    else { return nil }
    let high = numbers.dropLast().enumerated().reduce(UInt64(0)) { sum, part in
      sum | part.element << (8 * UInt64(3 - part.offset))
    }
    bytes = (0..<4).map { UInt8(truncatingIfNeeded: (high | last) >> (8 * UInt64(3 - $0))) }
  }

  private static func number(_ text: Substring) -> UInt64? {
    if let digits = text.lowercased().dropping(bytePrefix: "0x") {
      return UInt64(digits, radix: 16)
    }
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return text.utf8.count > 1 && text.hasBytePrefix("0")
      ? UInt64(text, radix: 8) : UInt64(text, radix: 10)
  }

  /// Whether the first `bits` bits are the same.
  package func hasPrefix(_ other: IPAddress, bits: Int) -> Bool {
    guard bytes.count == other.bytes.count, (0...bytes.count * 8).contains(bits) else {
      return false
    }
    for (index, pair) in zip(bytes, other.bytes).enumerated() {
      let counted = min(max(bits - index * 8, 0), 8)
      let mask = UInt8(truncatingIfNeeded: 0xFF00 >> counted)
      if (pair.0 ^ pair.1) & mask != 0 { return false }
    }
    return true
  }

  /// Four decimal numbers without leading zeros. Read byte by byte: requests ask of each host
  /// whether it is an address.
  private static func version4(_ text: Substring) -> [UInt8]? {
    var bytes: [UInt8] = []
    var number: Int?
    for byte in text.utf8 {
      if byte == UInt8(ascii: "."), let read = number {
        bytes.append(UInt8(read))
        number = nil
        continue
      }
      guard (0x30...0x39).contains(byte), number != 0 else { return nil }
      let sum = (number ?? 0) * 10 + Int(byte - 0x30)
      guard sum < 256 else { return nil }
      number = sum
    }
    guard bytes.count == 3, let number else { return nil }
    return bytes + [UInt8(number)]
  }

  /// RFC 4291, section 2.2.
  private static func version6(_ text: Substring) -> [UInt8]? {
    guard let gap = text.firstByteRange(of: "::") else {
      guard let whole = groups(text), whole.count == 16 else { return nil }
      return whole
    }
    let (before, after) = (text[..<gap.lowerBound], text[gap.upperBound...])
    guard !after.hasBytes("::"), let head = before.isEmpty ? [] : groups(before),
      let tail = after.isEmpty ? [] : groups(after), head.count + tail.count <= 14
    else { return nil }
    return head + [UInt8](repeating: 0, count: 16 - head.count - tail.count) + tail
  }

  private static func groups(_ text: Substring) -> [UInt8]? {
    let parts = text.byteSplit(separator: ":", omittingEmptySubsequences: false)
    var bytes: [UInt8] = []
    for (index, part) in parts.enumerated() {
      if index == parts.count - 1, part.hasBytes(".") {
        guard let last = version4(part) else { return nil }
        bytes += last
      } else {
        guard (1...4).contains(part.count), part.allSatisfy(\.isHexDigit),
          let group = UInt16(part, radix: 16)
        else { return nil }
        bytes += [UInt8(group >> 8), UInt8(truncatingIfNeeded: group)]
      }
    }
    return bytes
  }
}
