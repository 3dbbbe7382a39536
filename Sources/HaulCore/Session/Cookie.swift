/// One cookie: a line of a cookie file, or what a server has set (RFC 6265, section 5.3).
package struct Cookie: Hashable, Sendable {
  package let name: String
  package let value: String
  /// In lower case, without a leading dot.
  package let domain: String
  /// Whether it is for the hosts below its domain too.
  package let includesSubdomains: Bool
  package let path: String
  package let isSecure: Bool
  /// Seconds since 1970; nil for as long as the session lasts.
  package let expires: Double?
  /// Whether a server of this run has set it, not the user.
  package let isReceived: Bool

  package init(
    _ name: String, _ value: String, domain: String, includesSubdomains: Bool, path: String,
    isSecure: Bool, expires: Double?, isReceived: Bool = false
  ) {
    (self.name, self.value, self.path) = (name, value, path)
    (self.domain, self.includesSubdomains) = (domain, includesSubdomains)
    (self.isSecure, self.expires, self.isReceived) = (isSecure, expires, isReceived)
  }

  /// The bytes of its texts.
  var size: Int {
    name.utf8.count + value.utf8.count + domain.utf8.count + path.utf8.count
  }

  /// As it is sent.
  package var pair: String { "\(name)=\(value)" }

  /// Whether it is for this address, now or before it expired (section 5.4).
  func applies(to url: ResourceURL) -> Bool {
    (domain.isByteEqual(url.origin.host)
      || includesSubdomains && url.origin.host.hasByteSuffix(".\(domain)"))
      && matches(path: url.path) && (!isSecure || url.origin.keepsSecureCookies)
  }

  func isLive(at wallSeconds: Double) -> Bool { expires.map { $0 > wallSeconds } ?? true }

  /// Whether it replaces the other (section 5.3, step 11).
  func isSame(as other: Cookie) -> Bool {
    name.isByteEqual(other.name) && domain.isByteEqual(other.domain)
      && path.isByteEqual(other.path)
  }

  /// Section 5.1.4.
  private func matches(path requested: String) -> Bool {
    guard requested.hasBytePrefix(path) else { return false }
    return path.hasByteSuffix("/") || requested.utf8.count == path.utf8.count
      || requested.utf8.dropFirst(path.utf8.count).first == UInt8(ascii: "/")
  }

  /// Whether the text can be part of a `Cookie` field.
  package static func isSendable(_ text: some StringProtocol) -> Bool {
    text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: ";") }
  }
}

extension ResourceURL.Origin {
  /// Whether it may set `Secure` cookies, and gets them: over https, and on this machine, where no
  /// network reads them. RFC 6265bis, section 5.7, leaves that to the client.
  var keepsSecureCookies: Bool {
    scheme == "https" || IPAddress.isLoopbackName(host) || IPAddress(host)?.isLoopback == true
  }
}
