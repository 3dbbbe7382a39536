package import HaulCore

/// What the bytes of a part file are bytes of: shared, as much has it. No secret is in it: the
/// journal may be copied into a bug report.
package final class JournalHead: Codable, Hashable, Sendable {
  /// The redacted address, for people.
  package let url: String
  /// Equal for the same resource and no other.
  package let fingerprint: Fingerprint
  /// The fingerprint of the address with its tokens, where it has one that no signature goes with:
  /// the token may say which resource it is.
  package let tokenFingerprint: String?
  /// Where redirects led: the redacted address; nil when there were none.
  package let location: String?
  /// The fingerprint of that.
  package let locationFingerprint: Fingerprint?
  package let validator: Validator
  /// Length of the whole in bytes; nil while it is unknown.
  package let length: Int64?
  /// The digest of the whole that the server announced, as `ALGORITHM=HEX`.
  package let announced: String?

  /// - Parameter location: where the answer came from, when redirects led there.
  package init(
    url: ResourceURL, location: ResourceURL? = nil, validator: Validator, length: Int64?,
    announced: Checksum? = nil
  ) {
    self.url = url.redacted
    fingerprint = .of(url)
    tokenFingerprint = ResourceFingerprint.ofTokens(in: url)
    self.location = location?.redacted
    locationFingerprint = location.map(Fingerprint.of)
    self.validator = validator
    self.length = length
    self.announced = announced?.description
  }

  package static func == (left: JournalHead, right: JournalHead) -> Bool {
    left.url == right.url && left.fingerprint == right.fingerprint
      && left.tokenFingerprint == right.tokenFingerprint && left.location == right.location
      && left.locationFingerprint == right.locationFingerprint && left.validator == right.validator
      && left.length == right.length && left.announced == right.announced
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(fingerprint) }

  /// Whether the address is the one that the bytes are of, but for values of known signing keys.
  package func isOf(_ url: ResourceURL) -> Bool { fingerprint == .of(url) }

  /// Whether it also is with its tokens, so that nothing else has to tell that the resource is the
  /// same.
  package func hasTokens(of url: ResourceURL) -> Bool {
    tokenFingerprint == ResourceFingerprint.ofTokens(in: url)
  }

  /// Whether the bytes came from there, redirects followed.
  package func cameFrom(_ url: ResourceURL) -> Bool {
    (locationFingerprint ?? fingerprint) == .of(url)
  }

  /// Where redirects led, if nothing of that is hidden.
  package var knownLocation: ResourceURL? {
    // It was an address once; one that is none now is as good as hidden.
    guard let location, let url = try? ResourceURL(location) else { return nil }
    return cameFrom(url) ? url : nil
  }
}
