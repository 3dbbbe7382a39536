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
  /// - Parameter withBody: whether the request has a body.
  static func advice(
    on head: ResponseHead, to url: ResourceURL, _ fields: HeaderFields, withBody: Bool = false
  ) -> (text: String, TransferError.Remedy?) {
    let challenges = AuthChallenge.all(in: head.headers, named: "WWW-Authenticate")
    let schemes = Set(challenges.map(\.scheme))
    let supported: Set = ["basic", "bearer"]
    if let scheme = unsupportedScheme(of: challenges, besides: supported, withBody: withBody) {
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
  /// - Parameters:
  ///   - supported: besides Digest.
  ///   - withBody: whether the request has a body.
  package static func unsupportedScheme(
    of challenges: [AuthChallenge], besides supported: Set<String>, withBody: Bool
  ) -> String? {
    guard let first = challenges.first, supported.isDisjoint(with: challenges.map(\.scheme)),
      DigestChallenge(challenges, withBody: withBody) == nil
    else { return nil }
    switch first.scheme {
    case "digest" where DigestChallenge(challenges) != nil:
      return "the hash of the body (Digest authentication with auth-int)"
    case "digest":
      let algorithm = first.parameters["algorithm"].map { " with \(TerminalText.escaped($0))" }
      return "a form of Digest authentication\(algorithm ?? "")"
    case "ntlm": return "NTLM"
    case "negotiate": return "Negotiate"
    default: return TerminalText.escaped(first.scheme)
    }
  }
}
