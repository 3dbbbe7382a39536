import Crypto
package import HaulCore

/// Distinguishes resources without naming them: the SHA-256 of the address without the values of
/// known signing parameters.
enum ResourceFingerprint {
  static func bytes(of url: ResourceURL) -> [UInt8] {
    digest(of: url.resourceText)
  }

  /// The digest of the address of a file that may be replaced.
  static func exactBytes(_ url: ResourceURL) -> [UInt8] {
    digest(of: url.exactResourceText)
  }

  private static func digest(of text: String) -> [UInt8] {
    var (text, hash) = (text, SHA256())
    text.withUTF8 { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }
    return hash.finalize().withUnsafeBytes { Array($0) }
  }

  /// The digest in hexadecimal, for an address with tokens and without a signature; nil for any
  /// other.
  static func ofTokens(in url: ResourceURL) -> String? {
    url.exactResourceText == url.resourceText ? nil : Checksum(.sha256, bytes: exactBytes(url))?.hex
  }

  static func hex(of url: ResourceURL) -> String {
    Checksum(.sha256, bytes: bytes(of: url))?.hex ?? ""
  }

  /// Decodes the hexadecimal form; empty for anything else.
  static func bytes(hex: String) -> [UInt8] { Checksum("sha-256=\(hex)")?.bytes ?? [] }
}

/// The `ResourceFingerprint` of an address in hexadecimal. It is computed on demand, because most
/// small files never have a journal.
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
