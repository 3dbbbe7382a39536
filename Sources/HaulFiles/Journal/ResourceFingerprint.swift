import Crypto
package import HaulCore

/// Tells resources apart without saying which they are: SHA-256 of the address without the values
/// of known signing keys.
enum ResourceFingerprint {
  static func bytes(of url: ResourceURL) -> [UInt8] {
    digest(of: url.resourceText)
  }

  /// Of the address of a file that may be replaced.
  static func ofOwn(_ url: ResourceURL) -> [UInt8] {
    digest(of: url.ownText)
  }

  private static func digest(of text: String) -> [UInt8] {
    var (text, hash) = (text, SHA256())
    text.withUTF8 { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }
    return hash.finalize().withUnsafeBytes { Array($0) }
  }

  /// In hexadecimal, of an address with tokens that no signature goes with; nil for every other.
  static func ofTokens(in url: ResourceURL) -> String? {
    url.ownText == url.resourceText ? nil : Checksum(.sha256, bytes: ofOwn(url))?.hex
  }

  static func hex(of url: ResourceURL) -> String {
    Checksum(.sha256, bytes: bytes(of: url))?.hex ?? ""
  }

  /// Of what `hex` gave; empty for anything else.
  static func bytes(hex: String) -> [UInt8] { Checksum("sha-256=\(hex)")?.bytes ?? [] }
}

/// What a journal says of an address: `ResourceFingerprint` in hexadecimal. Of an address that is
/// at hand it is made when it is asked for: most small files never have a journal.
package enum Fingerprint: Hashable, Codable, Sendable {
  case of(ResourceURL)
  case hex(String)

  var hex: String {
    switch self {
    case .of(let url): ResourceFingerprint.hex(of: url)
    case .hex(let text): text
    }
  }

  package init(from decoder: any Decoder) throws {
    self = .hex(try decoder.singleValueContainer().decode(String.self))
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(hex)
  }

  package static func == (left: Fingerprint, right: Fingerprint) -> Bool { left.hex == right.hex }

  package func hash(into hasher: inout Hasher) { hasher.combine(hex) }
}
