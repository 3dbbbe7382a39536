import Crypto
import HaulCore

/// Tells resources apart without saying which they are: SHA-256 of the address without the values of known signing keys.
enum ResourceFingerprint {
  static func bytes(of url: ResourceURL) -> [UInt8] {
    Array(SHA256.hash(data: Array(url.resourceText.utf8)))
  }

  /// Of the address of a file that may be replaced.
  static func ofOwn(_ url: ResourceURL) -> [UInt8] {
    Array(SHA256.hash(data: Array(url.ownText.utf8)))
  }

  static func hex(of url: ResourceURL) -> String {
    Checksum(.sha256, bytes: bytes(of: url))?.hex ?? ""
  }

  /// Of what `hex` gave; empty for anything else.
  static func bytes(hex: String) -> [UInt8] { Checksum("sha-256=\(hex)")?.bytes ?? [] }
}
