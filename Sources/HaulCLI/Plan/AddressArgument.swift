import FoundationEssentials
package import HaulCore

/// A URL as it was typed.
package enum AddressArgument {
  /// - Throws: for a missing scheme, an error with the address that was probably meant.
  package static func url(_ text: String) throws(UsageError) -> ResourceURL {
    if let url = ResourceURL(plain: text) { return url }
    if text.hasByte(UInt8(ascii: "\t")) {
      throw UsageError(
        "\(redacted(text)): mirrors of one file (addresses separated by tabs) are not yet supported"
      )
    }
    if let guess = probablyMeant(text) {
      // No hint is better than a wrong one.
      let meant = (try? ResourceURL(guess))?.redacted
      let hint = meant.map { "did you mean \($0) ?" } ?? "it should begin with https://"
      throw UsageError("\(redacted(text)): the address has no scheme; \(hint)")
    }
    return try UsageError.checked(ResourceURL(text), at: redacted(text))
  }

  /// The address with a scheme added; nil if it has one.
  private static func probablyMeant(_ text: String) -> String? {
    if text.hasBytePrefix("https://") || text.hasBytePrefix("http://") { return nil }
    if text.hasBytes("://"), let first = text.first, first.isLetter { return nil }
    for scheme in ["https", "http"] where text.lowercased().hasBytePrefix(scheme + ":") {
      let start = text.utf8.index(text.startIndex, offsetBy: scheme.utf8.count + 1)
      let address = text[start...].droppingBytes("/")
      return address.isEmpty ? nil : "\(scheme)://\(address)"
    }
    if !looksLikeHost(text[...]) { return nil }
    let rest = text.droppingBytes("/:")
    return rest.isEmpty ? nil : "\(isLoopback(rest) ? "http" : "https")://\(rest)"
  }

  /// Distinguishes `host:8080/x` from `mailto:x`.
  private static func looksLikeHost(_ text: Substring) -> Bool {
    let authority = text.droppingBytes("/").prefix(beforeAnyOf: "/?")
    guard let colon = authority.firstByteIndex(of: ":"), !authority.hasBytePrefix("[") else {
      return true
    }
    return authority[..<colon].hasBytes(".") || authority.hasBytes("@")
      || authority[authority.utf8.index(after: colon)...].first?.isNumber == true
  }

  private static func isLoopback(_ text: Substring) -> Bool {
    ["127.", "[::1]"].contains { text.hasBytePrefix($0) }
      || IPAddress.isLoopbackName(text.prefix(beforeAnyOf: ":/?#").lowercased())
  }

  /// What may be shown of a text that is not a valid address: the text without user information,
  /// query and fragment.
  package static func redacted(_ text: String) -> String {
    // Compared by scalars: a `?` with a combining mark is another character.
    let scalars = text.unicodeScalars
    let base = scalars.prefix { $0 != "?" && $0 != "#" }
    let hidden = base.endIndex < scalars.endIndex ? "?***" : ""
    guard let at = base.lastIndex(where: { $0 == "@" }) else { return String(base) + hidden }
    let host = String(base[base.index(after: at)...]) + hidden
    guard let scheme = base[..<at].firstRange(of: schemeEnd),
      base[..<scheme.lowerBound].allSatisfy(isSchemeScalar)
    else { return host }
    return String(base[..<scheme.upperBound]) + host
  }

  /// Whether it may be in a scheme (RFC 3986, section 3.1); other text before `://` may be a
  /// password.
  private static func isSchemeScalar(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9", "+", "-", ".": true
    default: false
    }
  }

  /// Whether the text looks like an address, which may hold secrets.
  static func isLikely(_ text: String) -> Bool {
    text.unicodeScalars.firstRange(of: schemeEnd) != nil
  }

  private static let schemeEnd = "://".unicodeScalars
}
