import Crypto
package import HaulCore

/// What the bytes of a part file are bytes of. No secret is in it: the journal may be copied into a
/// bug report.
package struct JournalHead: Codable, Hashable, Sendable {
  /// The redacted address, for people.
  package var url: String
  /// SHA-256 of the full address in hexadecimal: equal for the same address and no other.
  package var fingerprint: String
  package var origin: String
  package var validator: Validator
  /// Length of the whole in bytes; nil while it is unknown.
  package var length: Int64?
  /// Whether ranges were joined without a strong validator or a digest.
  package var unverifiedAllowed: Bool
  /// The digest of the whole that the server announced, as `ALGORITHM=HEX`.
  package var announced: String?

  package init(
    url: ResourceURL, validator: Validator, length: Int64?, unverifiedAllowed: Bool = false,
    announced: Checksum? = nil
  ) {
    self.url = url.redacted
    self.fingerprint = Self.fingerprint(of: url)
    self.origin = url.origin.description
    self.validator = validator
    self.length = length
    self.unverifiedAllowed = unverifiedAllowed
    self.announced = announced?.description
  }

  /// What `fingerprint` is for this address.
  package static func fingerprint(of url: ResourceURL) -> String {
    let digest = Array(SHA256.hash(data: Array(url.absoluteString.utf8)))
    return Checksum(.sha256, bytes: digest)?.hex ?? ""
  }
}
