import FoundationEssentials

extension ResourceURL.Credentials {
  /// Those of an `Authorization` field with the scheme Basic; nil for any other.
  package init?(field: String) {
    guard field.prefix(beforeAnyOf: " ").lowercased() == "basic",
      let data = Data(base64Encoded: String(field.dropFirst(6).trimmingBytes(" "))),
      let pair = String(validating: data, as: UTF8.self),
      let colon = pair.firstByteIndex(of: ":")
    else { return nil }
    self.init(
      user: String(pair[..<colon]), password: String(pair[pair.utf8.index(after: colon)...]))
  }
}

/// What to do about a 401 (RFC 9110, section 15.5.2).
package enum UnauthorizedAdvice {
  /// The text and the setting that helps.
  /// - Parameter request: with the fields and the address that were asked for.
  static func advice(
    on head: ResponseHead, to url: ResourceURL, _ fields: HeaderFields
  ) -> (text: String, TransferError.Remedy?) {
    let challenges = AuthChallenge.all(in: head.headers, named: "WWW-Authenticate")
    let schemes = Set(challenges.map(\.scheme))
    if let scheme = unsupportedScheme(of: challenges, besides: ["basic", "bearer"]) {
      return ("it wants \(scheme), which is not supported", nil)
    }
    let authorization = fields["authorization"]
    // A redirect to another origin drops them.
    guard head.url.origin == url.origin, authorization != nil || url.credentials != nil else {
      return schemes == ["bearer"]
        ? ("give a token", .token) : ("give a user name and a password", .credentials)
    }
    if authorization == nil, url.credentials?.password.isEmpty == true {
      return ("no password was sent; give one", .password)
    }
    if authorization?.lowercased().hasBytePrefix("bearer ") == true {
      return ("the token is wrong or has expired", nil)
    }
    if schemes == ["bearer"] { return ("it wants a token, not a password", .token) }
    return (
      schemes.contains("digest")
        ? "wrong user name or password (Digest authentication)" : "wrong user name or password", nil
    )
  }

  /// A scheme without which there is no access; nil if one of them is supported.
  /// - Parameter supported: besides Digest.
  package static func unsupportedScheme(
    of challenges: [AuthChallenge], besides supported: Set<String>
  ) -> String? {
    guard let first = challenges.first, supported.isDisjoint(with: challenges.map(\.scheme)),
      DigestChallenge(challenges) == nil
    else { return nil }
    let names = [
      "digest": "a form of Digest authentication", "ntlm": "NTLM", "negotiate": "Negotiate",
    ]
    return names[first.scheme] ?? TerminalText.escaped(first.scheme)
  }
}
