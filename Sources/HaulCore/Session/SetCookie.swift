/// A `Set-Cookie` field (RFC 6265, section 5.2).
package struct SetCookie: Hashable, Sendable {
  package let name: String
  package let value: String
  /// In lower case, without a leading dot; nil if there is none.
  package var domain: String?
  /// Nil for the default.
  package var path: String?
  package var isSecure = false
  /// In seconds; the text may have any number of digits.
  package var maximumAge: Double?
  /// Seconds since 1970.
  package var expires: Double?

  /// The longest name with its value, and the longest attribute, that are read (RFC 6265bis,
  /// section 5.6).
  package static let maximumPair = 4096
  private static let maximumAttribute = 1024

  /// Nil for a field without a name, of too many bytes, or with a control character.
  package init?(_ text: String) {
    let parts = text.byteSplit(separator: ";", omittingEmptySubsequences: false)
    guard let equals = parts[0].firstByteIndex(of: "=") else { return nil }
    name = String(parts[0][..<equals].trimmingBytes(" \t"))
    value = String(parts[0][parts[0].utf8.index(after: equals)...].trimmingBytes(" \t"))
    guard !name.isEmpty, name.utf8.count + value.utf8.count <= Self.maximumPair,
      Cookie.isSendable(name), Cookie.isSendable(value)
    else { return nil }
    for attribute in parts.dropFirst() where attribute.utf8.count <= Self.maximumAttribute {
      let pair = attribute.byteSplit(
        separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      take(
        pair[0].trimmingBytes(" \t").lowercased(),
        pair.count > 1 ? pair[1].trimmingBytes(" \t") : "")
    }
  }

  /// The last attribute of a name counts.
  private mutating func take(_ name: String, _ value: Substring) {
    switch name {
    case "domain" where !value.isEmpty:
      domain = (value.dropping(bytePrefix: ".") ?? value).lowercased()
    case "path": path = value.hasBytePrefix("/") ? String(value) : nil
    case "secure": isSecure = true
    case "max-age": if let age = Self.seconds(value) { maximumAge = age }
    case "expires": if let date = CookieDate.seconds(of: value) { expires = date }
    default: break
    }
  }

  /// Section 5.2.2.
  private static func seconds(_ text: Substring) -> Double? {
    let digits = text.dropping(bytePrefix: "-") ?? text
    guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      return nil
    }
    return Double(text)
  }

  /// When it expires, in seconds since 1970: `Max-Age` precedes `Expires` (section 4.1.2.2).
  package func expiry(at wallSeconds: Double) -> Double? {
    guard let maximumAge else { return expires }
    return maximumAge <= 0 ? -1 : wallSeconds + maximumAge
  }

  /// Whether its name promises more than it keeps (RFC 6265bis, section 4.1.3).
  package func violatesPrefix(from origin: ResourceURL.Origin) -> Bool {
    let name = name.lowercased()
    let isSafe = isSecure && origin.keepsSecureCookies
    if name.hasBytePrefix("__host-") { return !isSafe || domain != nil || path != "/" }
    return name.hasBytePrefix("__secure-") && !isSafe
  }
}
