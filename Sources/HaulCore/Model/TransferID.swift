/// The opaque id of a transfer: 40 random bits, shown as 8 characters of Crockford's base32.
///
/// It is unique in its list. The id of a removed transfer comes again with a chance of one in 10¹²
/// for each transfer that is added, and another list may have it; for a name that is yours for ever
/// use `TransferRequest.identifier`.
public struct TransferID: Hashable, Sendable, Comparable {
  /// 40 bits; a store keeps an id as this number.
  package let bits: UInt64

  package init(using generator: inout some RandomNumberGenerator) {
    bits = generator.next() & 0xFF_FFFF_FFFF
  }

  /// The id with these bits; nil if there are more than 40.
  package init?(bits: UInt64) {
    guard bits <= 0xFF_FFFF_FFFF else { return nil }
    self.bits = bits
  }

  /// The id that prints as `text`; nil unless it is 8 base32 characters, in either case. O, I and L
  /// are read as 0, 1 and 1.
  public init?(_ text: String) {
    guard text.utf8.count == 8 else { return nil }
    var bits: UInt64 = 0
    for character in text.uppercased() {
      let plain: Character =
        switch character {
        case "O": "0"
        case "I", "L": "1"
        default: character
        }
      guard let digit = Self.alphabet.firstIndex(of: plain) else { return nil }
      bits = bits << 5 | UInt64(digit)
    }
    self.bits = bits
  }

  /// An arbitrary but stable order.
  public static func < (left: TransferID, right: TransferID) -> Bool { left.bits < right.bits }

  private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
}

extension TransferID {
  /// The first characters of ids.
  package struct Prefix: Sendable {
    private let bits: UInt64
    private let missing: UInt64

    /// Nil unless it is 1 to 8 base32 characters.
    package init?(_ text: String) {
      let count = text.utf8.count
      guard (1...8).contains(count),
        let id = TransferID(text + String(repeating: "0", count: 8 - count))
      else { return nil }
      missing = 5 * UInt64(8 - count)
      bits = id.bits >> missing
    }

    package func matches(_ id: TransferID) -> Bool { id.bits >> missing == bits }
  }
}

extension TransferID: CustomStringConvertible {
  /// Eight characters of Crockford's base32.
  public var description: String {
    String((0..<8).reversed().map { Self.alphabet[Int(bits >> (5 * UInt64($0)) & 31)] })
  }
}
