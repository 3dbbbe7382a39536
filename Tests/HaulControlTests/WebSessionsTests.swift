import Crypto
import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// Sessions of the web page.
@Suite struct WebSessionsTests {
  private let directory = FileManager.default.temporaryDirectory
    .appending(path: "haul-sessions-\(UUID().uuidString)")
  private let clock = ManualClock(wallStart: 1_000_000)
  private var file: String { directory.appending(path: "sessions").path }
  private static let address = "127.0.0.1:4711"
  private static let challenge = String(repeating: "ab", count: 32)

  init() throws {
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
  }

  /// As a daemon at its start has it.
  private func sessions(token: String = "token") throws -> WebSessions {
    let token = try ControlToken(file: directory.appending(path: token).path)
    return try WebSessions(file: file, keys: SessionKeys(token), clock: clock)
  }

  private func begin(_ sessions: WebSessions, browser: String = "B") throws -> SessionKey {
    try #require(try sessions.begin(with: sessions.makeCode(), at: 4711, browser: browser))
  }

  private func proof(
    _ sessions: WebSessions, for id: String, at address: String = address,
    _ challenge: String = challenge
  ) throws -> SessionProof {
    let body = #"{"session":"\#(id)","challenge":"\#(challenge)"}"#
    let decoded = try JSONDecoder().decode(ChallengeBody.self, from: Data(body.utf8))
    try #require(decoded.isValid)
    return sessions.proof(for: decoded, at: address)
  }

  /// As the page makes it.
  private func token(_ sessions: WebSessions, _ key: SessionKey) throws -> String {
    let start = try proof(sessions, for: key.session).start
    return "\(key.session).\(PageCode.hex("page\n\(start)", key.key))"
  }

  @Test func `a code is good once, and a wrong one never`() throws {
    let sessions = try sessions()
    let code = sessions.makeCode()
    #expect(code.utf8.count == 32)
    let reversed = String(code.reversed())
    #expect(try sessions.begin(with: reversed, at: 1, browser: "") == nil)
    #expect(try sessions.begin(with: "", at: 1, browser: "") == nil)
    let key = try #require(try sessions.begin(with: code, at: 1, browser: ""))
    #expect(try sessions.begin(with: code, at: 1, browser: "") == nil)
    let token = try token(sessions, key)
    #expect(sessions.isValid(token))
    for wrong in [token + "0", String(token.dropLast()), code, key.key, key.session, ""] {
      #expect(!sessions.isValid(wrong), "\(wrong)")
    }
    let other = try begin(sessions)
    #expect(!sessions.isValid(other.session + token.dropFirst(other.session.count)))
  }

  @Test func `a code is good for a minute`() throws {
    let sessions = try sessions()
    let (early, late) = (sessions.makeCode(), sessions.makeCode())
    clock.advance(by: .seconds(59))
    #expect(try sessions.begin(with: early, at: 1, browser: "") != nil)
    clock.advance(by: .seconds(1))
    #expect(try sessions.begin(with: late, at: 1, browser: "") == nil)
  }

  @Test
  func `a session and its port survive a restart, its token does not, and the file has no secret`()
    throws
  {
    let first = try sessions()
    #expect(first.ports == [])
    let key = try begin(first)
    #expect(first.ports == [4711])
    let old = try token(first, key)
    let second = try sessions()
    #expect(second.ports == [4711])
    #expect(!second.isValid(old), "what was sent to another program is worth nothing")
    #expect(second.isValid(try token(second, key)))
    #expect(second.key(of: key.session) == key)
    let text = try String(contentsOfFile: file, encoding: .utf8)
    #expect(!text.contains(key.key) && !text.contains(old) && text.contains(key.session))
    let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }

  @Test func `a proof is of this daemon, this session, this address and this challenge`() throws {
    let sessions = try sessions()
    let key = try begin(sessions)
    let given = try proof(sessions, for: key.session)
    func said(_ address: String, _ challenge: String) -> String {
      PageCode.hex("daemon\n\(address)\n\(challenge)\n\(given.start)", key.key)
    }
    #expect(given.proof == said(Self.address, Self.challenge))
    let other = String(repeating: "cd", count: 32)
    #expect(try proof(sessions, for: key.session, other).proof == said(Self.address, other))
    #expect(
      try proof(sessions, for: key.session, at: "127.0.0.1:4712").proof
        == said("127.0.0.1:4712", Self.challenge))
    let stranger = try self.sessions(token: "other")
    let foreign = try proof(stranger, for: key.session)
    #expect(
      foreign.proof
        != PageCode.hex("daemon\n\(Self.address)\n\(Self.challenge)\n\(foreign.start)", key.key))
    #expect(given.proof.utf8.count == 64 && given.start != foreign.start)
  }

  @Test func `a challenge has exactly 64 digits, and a session 16`() throws {
    let good = String(repeating: "a", count: 64)
    for (session, challenge) in [
      ("", good), ("0123456789abcdef", ""), ("0123456789abcdef", good + "a"),
      ("0123456789abcde\\n", good), ("0123456789ABCDEF", good),
      ("0123456789abcdef", String(repeating: "\u{661}", count: 32)),
    ] {
      let body = #"{"session":"\#(session)","challenge":"\#(challenge)"}"#
      #expect(!(try JSONDecoder().decode(ChallengeBody.self, from: Data(body.utf8)).isValid))
    }
  }

  @Test func `a session ends when it was not used for 30 days, and at most 32 are kept`() throws {
    let sessions = try sessions()
    let idle = try token(sessions, try begin(sessions))
    let used = try token(sessions, try begin(sessions))
    clock.advance(by: .seconds(20 * 86_400))
    #expect(sessions.isValid(used))
    clock.advance(by: .seconds(11 * 86_400))
    #expect(!sessions.isValid(idle))
    #expect(sessions.isValid(used))
    for _ in 0..<32 { _ = try begin(sessions) }
    #expect(!sessions.isValid(used))
  }

  @Test
  func `a session that is ended has no token, no key and no port, also after a restart`() throws {
    let sessions = try sessions()
    let (one, two) = (try begin(sessions), try begin(sessions))
    let token = try token(sessions, one)
    #expect(try sessions.end(one.session))
    #expect(try !sessions.end(one.session))
    for sessions in [sessions, try self.sessions()] {
      #expect(!sessions.isValid(try self.token(sessions, one)))
      #expect(sessions.key(of: one.session) == nil)
      #expect(sessions.list.map(\.id) == [two.session])
    }
    #expect(!sessions.isValid(token) && sessions.id(in: token) == one.session)
    #expect(try sessions.end(two.session))
    #expect(try self.sessions().ports == [])
  }

  @Test
  func `the list says when each was begun and used, and shows no control characters`() throws {
    let sessions = try sessions()
    let first = try begin(sessions, browser: "A\u{1B}[2J\u{202E}")
    clock.advance(by: .seconds(5))
    let second = try begin(sessions, browser: String(repeating: "x", count: 5000))
    clock.advance(by: .seconds(5))
    #expect(sessions.isValid(try token(sessions, first)))
    let list = sessions.list
    #expect(list.map(\.id) == [first.session, second.session])
    #expect(list.map(\.begun) == [1_000_000, 1_000_005])
    #expect(list.map(\.used) == [1_000_010, 1_000_005])
    #expect(list[0].browser == #"A\x1b[2J\u{202e}"#)
    #expect(list[1].browser.count == 160)
  }

  @Test func `a file that others can read is refused`() throws {
    _ = FileManager.default.createFile(
      atPath: file, contents: Data("{}".utf8), attributes: [.posixPermissions: 0o644])
    #expect(throws: TransferError.self) { try sessions() }
  }
}

/// HMAC-SHA256 in hexadecimal digits, as the page computes it.
private enum PageCode {
  static func hex(_ text: String, _ key: String) -> String {
    let digits = Array(key.utf8)
    let bytes = stride(from: 0, to: digits.count, by: 2).compactMap {
      UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)
    }
    let code = HMAC<SHA256>.authenticationCode(
      for: Data(text.utf8), using: SymmetricKey(data: bytes))
    return code.map { String(format: "%02x", $0) }.joined()
  }
}
