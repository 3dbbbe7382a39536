import HaulCore

/// One line of a cookie file.
struct Cookie: Hashable, Sendable {
  /// In lower case, without a leading dot.
  let domain: String
  let includesSubdomains: Bool
  let path: String
  let isSecure: Bool
  /// Seconds since 1970; nil for a session cookie.
  let expires: Double?
  let name: String
  let value: String
  /// Its index in the file.
  let order: Int

  init(_ text: Substring, line: Int, order: Int) throws(CookieFile.ParseError) {
    let fields = text.byteSplit(separator: "\t", omittingEmptySubsequences: false)
    // An empty value may be left out, with its tab.
    guard fields.count == 7 || fields.count == 6 else {
      throw CookieFile.ParseError(
        line: line, message: "a cookie has seven fields, separated by tabs")
    }
    guard let includesSubdomains = Self.truth(fields[1]), let isSecure = Self.truth(fields[3])
    else {
      throw CookieFile.ParseError(
        line: line, message: "the second and the fourth field are TRUE or FALSE")
    }
    guard let expires = Double(fields[4]), expires.isFinite else {
      throw CookieFile.ParseError(
        line: line, message: "the fifth field is a time in seconds since 1970")
    }
    let name = String(fields[5])
    let value = fields.count == 7 ? String(fields[6]) : ""
    guard Self.isSendable(name), Self.isSendable(value), !name.isEmpty, !name.hasBytes("=") else {
      throw CookieFile.ParseError(
        line: line, message: "the cookie's name or value has a forbidden character")
    }
    domain = (fields[0].dropping(bytePrefix: ".") ?? fields[0]).lowercased()
    self.includesSubdomains = includesSubdomains
    path = fields[2].hasBytePrefix("/") ? String(fields[2]) : "/"
    self.isSecure = isSecure
    self.expires = expires <= 0 ? nil : expires
    self.name = name
    self.value = value
    self.order = order
  }

  /// Whether the cookie is for this path (RFC 6265, section 5.1.4).
  func matches(path requested: String) -> Bool {
    guard requested.hasBytePrefix(path) else { return false }
    return path.hasByteSuffix("/") || requested.utf8.count == path.utf8.count
      || requested.utf8.dropFirst(path.utf8.count).first == UInt8(ascii: "/")
  }

  /// Whether the text can be part of a `Cookie` field.
  static func isSendable(_ text: some StringProtocol) -> Bool {
    text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: ";") }
  }

  private static func truth(_ text: Substring) -> Bool? {
    switch text.uppercased() {
    case "TRUE": true
    case "FALSE": false
    default: nil
    }
  }
}
