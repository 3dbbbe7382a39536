import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// Sessions that began with the password.
@Suite struct LoginSessionTests {
  private let directory = FileManager.default.temporaryDirectory
    .appending(path: "haul-logins-\(UUID().uuidString)").path
  private let clock = ManualClock(wallStart: 1_000_000)
  private let access: AccessList
  private let password: PasswordHash

  init() throws {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
    access = try AccessList(file: "\(directory)/access")
    password = try PasswordHash(Array("password".utf8))
    try access.setPassword(password)
  }

  private func end() { try? FileManager.default.removeItem(atPath: directory) }  // scratch

  /// As a daemon at its start has it.
  private func sessions(_ token: String = "token") throws -> WebSessions {
    try WebSessions(
      file: "\(directory)/sessions",
      keys: SessionKeys(try ControlToken(file: "\(directory)/\(token)")), clock: clock,
      access: access)
  }

  private func begin(_ sessions: WebSessions) throws -> (cookie: String, id: String) {
    let cookie = try sessions.begin(with: password, browser: "B")
    return (cookie, try #require(sessions.session(ofCookie: cookie)))
  }

  @Test func `a cookie outlives the daemon, and another one is worth nothing`() throws {
    defer { end() }
    let (cookie, id) = try begin(try sessions())
    let later = try sessions()
    #expect(later.session(ofCookie: cookie) == id)
    #expect(later.hasPassword(id) && later.key(of: id)?.login == true)
    #expect(later.ports == [], "it has no port")
    let zero = id + "." + String(repeating: "0", count: 64)
    for wrong in ["", id, zero, cookie + "0", String(cookie.dropLast()), cookie.uppercased()]
    where wrong != cookie {
      #expect(later.session(ofCookie: wrong) == nil, "\(wrong)")
    }
    #expect(try sessions("other").session(ofCookie: cookie) == nil)
    let text = try String(contentsOfFile: "\(directory)/sessions", encoding: .utf8)
    #expect(text.contains(id) && !text.contains(cookie.suffix(64)))
  }

  @Test func `it ends with its session`() throws {
    defer { end() }
    let sessions = try sessions()
    let (cookie, id) = try begin(sessions)
    #expect(try sessions.end(id))
    #expect(sessions.session(ofCookie: cookie) == nil && !sessions.has(id))
    #expect(sessions.knownBrowser(ofCookie: cookie) == id)
    #expect(sessions.knownBrowser(ofCookie: "\(id).\(String(repeating: "0", count: 64))") == nil)
    #expect(try self.sessions().session(ofCookie: cookie) == nil)
  }

  @Test(arguments: [true, false])
  func `it ends with its password, and the one of a code does not`(isRemoved: Bool) throws {
    defer { end() }
    let sessions = try sessions()
    let (cookie, id) = try begin(sessions)
    let code = try #require(
      try sessions.begin(with: sessions.makeCode(), at: 4711, browser: "B"))
    #expect(!sessions.hasPassword(code.session) && code.login == nil)
    try access.setPassword(isRemoved ? nil : try PasswordHash(Array("password".utf8)))
    #expect(sessions.session(ofCookie: cookie) == nil && !sessions.has(id))
    #expect(sessions.has(code.session))
    #expect(sessions.list.map(\.id) == [code.session])
  }

  @Test func `it ends when it was not used for 30 days`() throws {
    defer { end() }
    let sessions = try sessions()
    let (cookie, _) = try begin(sessions)
    clock.advance(by: .seconds(29 * 86_400))
    #expect(sessions.session(ofCookie: cookie) != nil)
    clock.advance(by: .seconds(29 * 86_400))
    #expect(try self.sessions().session(ofCookie: cookie) != nil, "its use is stored")
    clock.advance(by: .seconds(31 * 86_400))
    #expect(sessions.session(ofCookie: cookie) == nil)
  }

  @Test func `the form of the login page has one field`() {
    func text(_ body: String) -> String? {
      LoginForm.password(Array(body.utf8)).map { String(decoding: $0, as: UTF8.self) }
    }
    #expect(text("password=a+b%2B%C3%A4%26") == "a b+ä&")
    #expect(text("password=") == "")
    for wrong in ["", "x=1", "password=a&password=b", "xpassword=a", "password=a&x=1"] {
      #expect(text(wrong) == nil, "\(wrong)")
    }
  }
}
