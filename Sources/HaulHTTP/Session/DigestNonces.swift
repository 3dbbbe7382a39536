import HaulCore
import NIOConcurrencyHelpers

/// The nonces of servers and proxies that want Digest authentication. Later requests use them at
/// once, each with a count of its own (RFC 7616, section 3.4).
final class DigestNonces: Sendable {
  /// Where a password is valid, and whose.
  struct Space: Hashable, Sendable {
    enum Place: Hashable, Sendable {
      case origin(ResourceURL.Origin)
      case proxy(ProxyRules.Proxy)
    }

    let place: Place
    let credentials: ResourceURL.Credentials
  }

  /// One request with a nonce.
  struct Use: Sendable {
    let challenge: DigestChallenge
    let clientNonce: String
    let count: UInt32
    let credentials: ResourceURL.Credentials

    /// The value of the field that answers the challenge.
    func field(_ method: String, _ target: String) -> String {
      challenge.field(for: credentials, method, target, count: count, clientNonce: clientNonce)
    }
  }

  private struct Nonce {
    let challenge: DigestChallenge
    let clientNonce: String
    var count: UInt32 = 0
  }

  private static let maximum = 1024

  private let nonces = NIOLockedValueBox<[Space: Nonce]>([:])

  /// The next use of a nonce; nil before the first challenge that such a request can answer.
  func use(in space: Space, withBody: Bool = false) -> Use? {
    nonces.withLockedValue { nonces in
      guard var nonce = nonces[space], nonce.challenge.allows(body: withBody) else { return nil }
      nonce.count &+= 1
      nonces[space] = nonce
      return Use(
        challenge: nonce.challenge, clientNonce: nonce.clientNonce, count: nonce.count,
        credentials: space.credentials)
    }
  }

  func hasNonce(for space: Space) -> Bool { nonces.withLockedValue { $0[space] != nil } }

  /// Takes the challenges of a refusal.
  /// - Parameters:
  ///   - used: what the refused request had.
  ///   - isRepeated: whether another refusal preceded it.
  ///   - withBody: whether the request has a body.
  /// - Returns: whether the request may succeed with the next use.
  func learn(
    _ challenges: [AuthChallenge], in space: Space, used: Use?, isRepeated: Bool,
    withBody: Bool = false
  ) -> Bool {
    guard let challenge = DigestChallenge(challenges, withBody: withBody) else { return false }
    // A new nonce was refused: the password is wrong.
    if used != nil, isRepeated, !challenge.isStale { return false }
    var random = SystemRandomNumberGenerator()
    let clientNonce = random.next().hexDigits + random.next().hexDigits
    nonces.withLockedValue { nonces in
      // A parallel request may have learned a newer one.
      if let known = nonces[space], known.challenge.nonce != used?.challenge.nonce { return }
      if nonces.count >= Self.maximum { nonces = [:] }
      nonces[space] = Nonce(challenge: challenge, clientNonce: clientNonce)
    }
    return true
  }
}
