/// Percent-encoded octets (RFC 3986, section 2.1).
package enum PercentCoding {
  /// Takes the two hexadecimal digits after a `%`; takes nothing and returns nil without them.
  static func takeHexByte(_ rest: inout ArraySlice<UInt8>) -> UInt8? {
    guard rest.count >= 2, let high = nibble(rest[rest.startIndex]),
      let low = nibble(rest[rest.startIndex + 1])
    else { return nil }
    rest.removeFirst(2)
    return high << 4 | low
  }

  /// Decodes once; a `%` without two digits stands for itself.
  package static func decoded(_ text: some StringProtocol) -> [UInt8] {
    var rest = Array(text.utf8)[...]
    guard rest.contains(UInt8(ascii: "%")) else { return Array(rest) }
    var bytes: [UInt8] = []
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), let decoded = takeHexByte(&rest) {
        bytes.append(decoded)
      } else {
        bytes.append(byte)
      }
    }
    return bytes
  }

  /// Decodes once, as UTF-8.
  package static func text(_ text: some StringProtocol) -> String {
    String(decoding: decoded(text), as: UTF8.self)
  }

  /// `%XX`.
  package static func encoded(_ byte: UInt8) -> String {
    let digits = String(byte, radix: 16, uppercase: true)
    return digits.count == 1 ? "%0\(digits)" : "%\(digits)"
  }

  /// Whether it stands for itself everywhere in an address (RFC 3986, section 2.3).
  package static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
    default: false
    }
  }

  /// Every byte encoded, except those that stand for themselves everywhere.
  /// - Parameter separator: a byte that stays too.
  package static func component(_ text: String, keeping separator: UInt8? = nil) -> String {
    func stays(_ byte: UInt8) -> Bool { isUnreserved(byte) || byte == separator }
    if text.utf8.allSatisfy(stays) { return text }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    for byte in text.utf8 {
      if stays(byte) {
        bytes.append(byte)
      } else {
        bytes += encoded(byte).utf8
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The value of a hexadecimal digit.
  static func nibble(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x41 + 10
    case 0x61...0x66: byte - 0x61 + 10
    default: nil
    }
  }
}
