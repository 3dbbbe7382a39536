package import HaulCore

/// Identifies the resource and version of a part file. Shared, because many places use it. It holds
/// no secrets, so that a journal may be attached to a bug report.
package final class JournalHead: Codable, Hashable, Sendable {
  /// The redacted address, for people.
  package let url: String
  /// Equal only for the same resource.
  package let fingerprint: Fingerprint
  /// The fingerprint of the address with its tokens, if it has tokens without a signature. A token
  /// may select the resource.
  package let tokenFingerprint: String?
  /// The redacted address after redirects; nil without redirects.
  package let location: String?
  /// The fingerprint of `location`.
  package let locationFingerprint: Fingerprint?
  package let validator: Validator
  /// Length of the whole file in bytes; nil while it is unknown.
  package let length: Int64?
  /// The digest of the whole file that the server announced, as `ALGORITHM=HEX`.
  package let announced: String?
  /// The content coding of the bytes; nil for none.
  package let coding: String?
  /// True if a client over TCP asked for the bytes; nil otherwise, so that nothing is written.
  private let ofClient: Bool?

  package var isOfClient: Bool { ofClient == true }

  /// - Parameters:
  ///   - location: the address of the answer, after redirects.
  ///   - isOfClient: whether a client over TCP asks for the bytes.
  package init(
    url: ResourceURL, location: ResourceURL? = nil, validator: Validator, length: Int64?,
    announced: Checksum? = nil, coding: String? = nil, isOfClient: Bool = false
  ) {
    self.url = url.redacted
    fingerprint = .of(url)
    tokenFingerprint = ResourceFingerprint.ofTokens(in: url)
    self.location = location?.redacted
    locationFingerprint = location.map(Fingerprint.of)
    self.validator = validator
    self.length = length
    self.announced = announced?.description
    self.coding = coding
    ofClient = isOfClient ? true : nil
  }

  package static func == (left: JournalHead, right: JournalHead) -> Bool {
    left.url == right.url && left.fingerprint == right.fingerprint
      && left.tokenFingerprint == right.tokenFingerprint && left.location == right.location
      && left.locationFingerprint == right.locationFingerprint && left.validator == right.validator
      && left.length == right.length && left.announced == right.announced
      && left.coding == right.coding && left.ofClient == right.ofClient
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(fingerprint) }

  /// Whether the bytes are from this address, apart from the values of known signing parameters.
  package func matches(_ url: ResourceURL) -> Bool { fingerprint == .of(url) }

  /// Whether its tokens are equal too, so that no other proof of the same resource is needed.
  package func hasTokens(of url: ResourceURL) -> Bool {
    tokenFingerprint == ResourceFingerprint.ofTokens(in: url)
  }

  /// Whether the bytes came from this address, after redirects.
  package func cameFrom(_ url: ResourceURL) -> Bool {
    (locationFingerprint ?? fingerprint) == .of(url)
  }

  /// The address after redirects, if nothing in it is redacted.
  package var knownLocation: ResourceURL? {
    // It was a valid address; if it cannot be parsed now, it was redacted.
    guard let location, let url = try? ResourceURL(location) else { return nil }
    return cameFrom(url) ? url : nil
  }
}
