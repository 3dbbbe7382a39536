import Crypto
import HaulCore

/// What the daemon and a page prove to each other (docs/decisions/021-page-sessions.md). The key of
/// a session follows from its id and the token of the state directory, so no file has it.
package struct SessionKeys: Sendable {
  private let root: SymmetricKey
  /// It names this start of the daemon: a page's token is worth nothing to another one.
  private let start = RandomText.make(words: 4)

  package init(_ token: ControlToken) { root = token.symmetricKey }

  /// The key that a page gets once, and never sends.
  func key(of id: String) -> SessionKey {
    SessionKey(session: id, key: sessionCode(id).hexDigits)
  }

  /// Shows a page with that key that this is the daemon of its session, at this address.
  /// - Parameter address: of this listener, so that no other one can pass the proof on as its own.
  func proof(for id: String, address: String, challenge: String) -> SessionProof {
    let message = "daemon\n\(address)\n\(challenge)\n\(start)"
    return SessionProof(start: start, proof: code(message, sessionKey(id)).hexDigits)
  }

  /// The id in a token; nil if the token is not of this start.
  func id(in token: some StringProtocol) -> String? {
    let bytes = Array(token.utf8)
    guard bytes.count == Self.idLength + 1 + Self.codeLength,
      bytes[Self.idLength] == UInt8(ascii: ".")
    else { return nil }
    let id = String(decoding: bytes[..<Self.idLength], as: UTF8.self)
    let own = Array(code("page\n\(start)", sessionKey(id)).hexDigits.utf8)
    return own.isEqualInConstantTime(to: bytes[(Self.idLength + 1)...]) ? id : nil
  }

  /// What a browser keeps of a session that began with the password. Unlike the token of a page, it
  /// outlives the daemon.
  func cookie(of id: String) -> String { "\(id).\(code("cookie\n\(id)", root).hexDigits)" }

  /// The id in a cookie; nil for any other text.
  func id(inCookie cookie: some StringProtocol) -> String? {
    let bytes = Array(cookie.utf8)
    guard bytes.count == Self.idLength + 1 + Self.codeLength else { return nil }
    let id = String(decoding: bytes[..<Self.idLength], as: UTF8.self)
    return Array(self.cookie(of: id).utf8).isEqualInConstantTime(to: bytes) ? id : nil
  }

  static let idLength = 16
  private static let codeLength = 64

  private func sessionKey(_ id: String) -> SymmetricKey { SymmetricKey(data: sessionCode(id)) }

  private func sessionCode(_ id: String) -> HMAC<SHA256>.MAC { code("session\n\(id)", root) }

  private func code(_ text: String, _ key: SymmetricKey) -> HMAC<SHA256>.MAC {
    HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key)
  }
}
