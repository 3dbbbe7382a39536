import Crypto

/// Digest authentication (RFC 7616; without `qop`, RFC 2069): the password is never sent.
package struct DigestChallenge: Hashable, Sendable {
  private enum Algorithm: String, CaseIterable {
    // In the order of preference.
    case sha256 = "sha-256"
    case sha512256 = "sha-512-256"
    case md5

    func hash(_ text: String) -> String {
      switch self {
      case .sha256: SHA256.hash(data: FieldText.bytes(of: text)).hexDigits
      case .sha512256: SHA512256.hash(FieldText.bytes(of: text)).hexDigits
      case .md5: Insecure.MD5.hash(data: FieldText.bytes(of: text)).hexDigits
      }
    }
  }

  private let challenge: AuthChallenge
  private let algorithm: Algorithm
  /// Whether the hash of the password has the nonces too.
  private let isSession: Bool
  /// `qop`; nil for a server without it.
  private let protection: String?
  package let realm: String
  package let nonce: String
  /// Whether the password was right, and only the nonce too old.
  package let isStale: Bool

  /// The strongest of these challenges that can be answered; nil if there is none.
  /// - Parameter withBody: whether the request has a body.
  package init?(_ challenges: [AuthChallenge], withBody: Bool = false) {
    let digests = challenges.compactMap { DigestChallenge($0) }
      .filter { $0.allows(body: withBody) }
    let best = Algorithm.allCases.lazy.compactMap { algorithm in
      digests.first { $0.algorithm == algorithm }
    }.first
    guard let best else { return nil }
    self = best
  }

  /// Whether a request with or without a body can be answered. `auth-int` would need the hash of
  /// the whole body before its first byte is sent.
  package func allows(body hasBody: Bool) -> Bool { !hasBody || protection != Self.ofBody }

  private static let ofBody = "auth-int"

  private init?(_ challenge: AuthChallenge) {
    let parameters = challenge.parameters
    guard challenge.scheme == "digest", let nonce = parameters["nonce"] else { return nil }
    let name = parameters["algorithm"]?.lowercased() ?? "md5"
    let plain = name.dropping(byteSuffix: "-sess")
    guard let algorithm = Algorithm(rawValue: plain.map(String.init) ?? name) else { return nil }
    if let qop = parameters["qop"], !qop.isEmpty {
      let offered = qop.lowercased().byteSplit { ", \t".utf8.contains($0) }
      protection = ["auth", Self.ofBody].first { known in
        offered.contains { $0.isByteEqual(known) }
      }
      if protection == nil { return nil }
    } else {
      protection = nil
    }
    (self.challenge, self.algorithm, isSession) = (challenge, algorithm, plain != nil)
    (realm, self.nonce) = (parameters["realm"] ?? "", nonce)
    isStale = parameters["stale"]?.lowercased() == "true"
  }

  /// The value of `Authorization` or `Proxy-Authorization`; with `auth-int`, for a request without
  /// a body.
  /// - Parameters:
  ///   - target: of the request line.
  ///   - count: how many requests have used this nonce, with this one.
  ///   - clientNonce: the same for all of them.
  package func field(
    for credentials: ResourceURL.Credentials, _ method: String, _ target: String, count: UInt32,
    clientNonce: String
  ) -> String {
    let counter = withUnsafeBytes(of: count.bigEndian) { $0.hexDigits }
    var secret = algorithm.hash("\(credentials.user):\(realm):\(credentials.password)")
    if isSession { secret = algorithm.hash("\(secret):\(nonce):\(clientNonce)") }
    let body = protection == Self.ofBody ? ":\(algorithm.hash(""))" : ""
    let request = algorithm.hash("\(method):\(target)\(body)")
    let middle = protection.map { "\(nonce):\(counter):\(clientNonce):\($0)" } ?? nonce
    var parts = [
      "username=\(Self.quoted(user(credentials.user)))", "realm=\(Self.quoted(realm))",
      "nonce=\(Self.quoted(nonce))", "uri=\(Self.quoted(target))",
      "response=\"\(algorithm.hash("\(secret):\(middle):\(request)"))\"",
    ]
    if let name = challenge.parameters["algorithm"] { parts.append("algorithm=\(name)") }
    if let protection {
      parts += ["cnonce=\"\(clientNonce)\"", "nc=\(counter)", "qop=\(protection)"]
    } else if isSession {
      parts.append("cnonce=\"\(clientNonce)\"")
    }
    if let opaque = challenge.parameters["opaque"] { parts.append("opaque=\(Self.quoted(opaque))") }
    if hidesUser { parts.append("userhash=true") }
    return "Digest " + parts.joined(separator: ", ")
  }

  private var hidesUser: Bool { challenge.parameters["userhash"]?.lowercased() == "true" }

  /// RFC 7616, section 3.4.4.
  private func user(_ name: String) -> String {
    hidesUser ? algorithm.hash("\(name):\(realm)") : name
  }

  private static func quoted(_ text: String) -> String {
    let escaped = text.replacingBytes("\\", with: "\\\\").replacingBytes("\"", with: "\\\"")
    return "\"\(escaped)\""
  }
}
