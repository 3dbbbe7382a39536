import Crypto
import HaulCore

/// Tells resources apart without saying which they are: SHA-256 of the address without the values of known signing keys.
enum ResourceFingerprint {
  static func bytes(of url: ResourceURL) -> [UInt8] {
    digest(of: url.resourceText)
  }

  /// Of the address of a file that may be replaced.
  static func ofOwn(_ url: ResourceURL) -> [UInt8] {
    digest(of: url.ownText)
  }

  private static func digest(of text: String) -> [UInt8] {
    SHA256.hash(data: Array(text.utf8)).withUnsafeBytes { Array($0) }
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
