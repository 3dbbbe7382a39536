/// Percent-encodes what may not stand in an address (RFC 3986, appendix A), and keeps each escape
/// that is there: a general parser that finds such a character encodes every `%` again.
enum AddressEscapes {
  static func completed(_ text: String) -> String {
    let bytes = Array(text.utf8)
    let host = host(in: bytes)
    var (completed, isFragment) = ([UInt8](), false)
    for (index, byte) in bytes.enumerated() {
      let isHash = byte == UInt8(ascii: "#")
      if host.contains(index) || isAllowed(byte) || isEscape(bytes[index...])
        || isHash && !isFragment
      {
        completed.append(byte)
      } else {
        completed += PercentCoding.encoded(byte).utf8
      }
      isFragment = isFragment || isHash
    }
    return completed.count == bytes.count ? text : String(decoding: completed, as: UTF8.self)
  }

  /// Where host and port are; empty for a relative address without them.
  private static func host(in bytes: [UInt8]) -> Range<Int> {
    let slash = UInt8(ascii: "/")
    let scheme = bytes.prefix { $0 != UInt8(ascii: ":") && $0 != slash && !isEnd($0) }
    var start = scheme.endIndex
    if start < bytes.count, bytes[start] == UInt8(ascii: ":") { start += 1 }
    guard bytes[start...].starts(with: [slash, slash]) else { return 0..<0 }
    let authority = bytes[(start + 2)...].prefix { $0 != slash && !isEnd($0) }
    let at = authority.lastIndex(of: UInt8(ascii: "@"))
    return (at.map { $0 + 1 } ?? authority.startIndex)..<authority.endIndex
  }

  private static func isEnd(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
  }

  private static func isEscape(_ rest: ArraySlice<UInt8>) -> Bool {
    guard rest.first == UInt8(ascii: "%") else { return false }
    var digits = rest.dropFirst()
    return PercentCoding.takeHexByte(&digits) != nil
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    PercentCoding.isUnreserved(byte) || "!$&'()*+,;=:@/?".utf8.contains(byte)
  }
}
