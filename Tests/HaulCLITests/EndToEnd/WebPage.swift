import Crypto
import Foundation
import HaulControl
import Testing

/// The web page's calls, without a browser.
struct WebPage {
  let port: Int
  let code: String
  /// Where a browser sees it; nil for its port.
  var authority: String?

  var host: String { "Host: \(authority ?? "127.0.0.1:\(port)")" }
  var origin: String {
    authority.map { "Origin: https://\($0)" } ?? "Origin: http://127.0.0.1:\(port)"
  }

  func call(
    _ method: String, _ path: String, _ fields: [String], body: String? = nil
  ) throws -> SocketCall {
    try SocketCall(method, path, fields, body: body, at: .port(port))
  }

  func begin(_ code: String, _ fields: [String]) throws -> SocketCall {
    try call(
      "POST", "/api/v1/session", fields + ["Content-Type: application/json"],
      body: #"{"code":"\#(code)"}"#)
  }

  func key() throws -> SessionKey {
    let call = try begin(code, [host, origin, "Sec-Fetch-Site: same-origin", "User-Agent: B/1"])
    try #require(call.status == 200, "\(call.body)")
    return try JSONDecoder().decode(SessionKey.self, from: Data(call.body.utf8))
  }

  func proof(_ session: String, _ challenge: String) throws -> SocketCall {
    try call(
      "POST", "/api/v1/session/proof", [host, origin, "Content-Type: application/json"],
      body: #"{"session":"\#(session)","challenge":"\#(challenge)"}"#)
  }

  /// As the page makes it, after the daemon has proved itself.
  func token(_ key: SessionKey) throws -> String {
    let challenge = String(repeating: "0a", count: 32)
    let call = try proof(key.session, challenge)
    try #require(call.status == 200, "\(call.body)")
    let answer = try JSONDecoder().decode(SessionProof.self, from: Data(call.body.utf8))
    let said = "daemon\n\(authority ?? "127.0.0.1:\(port)")\n\(challenge)\n\(answer.start)"
    #expect(answer.proof == Self.code(said, key))
    return "\(key.session).\(Self.code("page\n\(answer.start)", key))"
  }

  func token() throws -> String { try token(try key()) }

  private static func code(_ text: String, _ key: SessionKey) -> String {
    let digits = Array(key.key.utf8)
    let bytes = stride(from: 0, to: digits.count, by: 2).compactMap {
      UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)
    }
    let code = HMAC<SHA256>.authenticationCode(
      for: Data(text.utf8), using: SymmetricKey(data: bytes))
    return code.map { String(format: "%02x", $0) }.joined()
  }
}
