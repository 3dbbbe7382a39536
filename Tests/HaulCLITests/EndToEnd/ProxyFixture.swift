import Foundation
import HaulControl
import HaulTesting
import Testing

/// A daemon behind a proxy, which these tests play: it listens on a port, and its name is that of
/// the proxy.
struct ProxyFixture {
  let fixture: DaemonFixture
  let serving: CommandRun
  let port: Int

  static let password = "correct horse"
  static let host = "Host: nas.test"
  static let origin = "Origin: https://nas.test"

  static func with(
    path: String = "/", hasPassword: Bool = true, _ body: (ProxyFixture) async throws -> Void
  ) async throws {
    try await DaemonFixture.with(CommandFixture.file("/a")) { fixture in
      if hasPassword { try setPassword(fixture) }
      let serving = try await fixture.serve(
        "--listen", "127.0.0.1:0", "--public-url", "https://nas.test\(path)", "--root",
        fixture.work.directory)
      try await serving.reach("it listened") { _, errors in errors.contains("of 127.0.0.1") }
      let number = serving.firstError(matching: /listening on port (\d+)/)
      try await body(
        ProxyFixture(
          fixture: fixture, serving: serving, port: try #require(number.flatMap { Int($0) })))
    }
  }

  /// As `haul ui password` does it.
  static func setPassword(_ fixture: DaemonFixture, _ text: String = password) throws {
    let location = try fixture.location()
    try location.prepareDirectory()
    try AccessList(file: location.access).setPassword(try PasswordHash(Array(text.utf8)))
  }

  func call(
    _ method: String, _ path: String, _ fields: [String] = [], host: String = Self.host,
    body: String? = nil
  ) throws -> SocketCall {
    try SocketCall(method, path, [host] + fields, body: body, at: .port(port))
  }

  /// What the form of the login page sends.
  /// - Parameter address: of the browser, as the proxy says.
  func logIn(
    _ password: String = Self.password, from address: String = "192.0.2.1",
    fields: [String] = [Self.origin, "Sec-Fetch-Site: same-origin"], host: String = Self.host
  ) throws -> SocketCall {
    try call(
      "POST", "/login",
      fields + [
        "X-Forwarded-For: \(address)", "Content-Type: application/x-www-form-urlencoded",
      ], host: host, body: "password=\(password.replacing(" ", with: "+"))")
  }

  /// Stops the daemon; what it has logged.
  func log() async throws -> String {
    #expect(try await fixture.haul("daemon", "stop").status == 0)
    return await serving.end().errors
  }

  /// The field with the cookie of a login.
  func cookie() throws -> String {
    let answer = try logIn()
    try #require(answer.status == 303, "\(answer.body)")
    let match = try #require(answer.head.firstMatch(of: /(__(?:Host|Secure)-haul=[^;]+);/))
    return "Cookie: theme=x; \(match.output.1)"
  }

  /// What the page of that cookie sends with each request.
  func page(_ cookie: String) throws -> (fields: [String], key: SessionKey) {
    let answer = try call("GET", "/api/v1/session", [cookie])
    try #require(answer.status == 200, "\(answer.body)")
    let key = try JSONDecoder().decode(SessionKey.self, from: Data(answer.body.utf8))
    let token = try WebPage(port: port, code: "", authority: "nas.test").token(key)
    return ([Self.origin, "Authorization: Bearer \(token)"], key)
  }
}
