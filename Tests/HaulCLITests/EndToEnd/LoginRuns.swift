import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// The login page of a real daemon.
@Suite(.timeLimit(.minutes(10)))
struct LoginRuns {
  @Test func `the password gives a session, whose page has access by itself`() async throws {
    try await ProxyFixture.with { (proxy) async throws in
      let form = try proxy.call("GET", "/login", ["Sec-Fetch-Site: same-origin"])
      #expect(form.status == 200 && form.body.contains("type=\"password\""))
      let head = form.head.lowercased()
      for field in [
        "default-src 'none'", "form-action 'self'", "frame-ancestors 'none'",
        "cache-control: no-store",
        "referrer-policy: same-origin", "x-content-type-options: nosniff",
      ] {
        #expect(head.contains(field), "\(field)")
      }
      // Also where a proxy sets 'no-referrer' for all pages, which would hide the form's origin.
      #expect(form.body.contains(#"<meta name="referrer" content="same-origin">"#))
      for forbidden in ["<script", "style=", "http:", "https:", "unsafe"] {
        #expect(!form.body.contains(forbidden), "\(forbidden)")
      }
      let answer = try proxy.logIn()
      #expect(answer.status == 303 && answer.head.lowercased().contains("location: ./"))
      let field = try #require(answer.head.firstMatch(of: /[Ss]et-[Cc]ookie: (.+)/)?.output.1)
      #expect(field.hasPrefix("__Host-haul="))
      let attributes = ["Path=/", "Secure", "HttpOnly", "SameSite=Strict", "Max-Age=2592000"]
      #expect(field.components(separatedBy: "; ").dropFirst().elementsEqual(attributes))

      let cookie = try proxy.cookie()
      let (page, key) = try proxy.page(cookie)
      #expect(key.login == true)
      #expect(try proxy.call("GET", "/api/v1/status", page).status == 200)
      let change = page + ["Content-Type: application/json"]
      let add = #"{"transfers":[{"url":"http://127.0.0.1:9/a","directory":"/"}]}"#
      #expect(try proxy.call("POST", "/api/v1/transfers", change, body: add).status == 403)
    }
  }

  @Test func `the cookie is good for the key of the page, and for nothing else`() async throws {
    try await ProxyFixture.with { (proxy) async throws in
      let cookie = try proxy.cookie()
      for (method, path) in RemoteAccessRuns.paths {
        let call = try proxy.call(method, path, [cookie, ProxyFixture.origin])
        #expect(call.status == 401, "\(method) \(path)")
      }
      // A page of another site makes the browser send it, and gets nothing for that.
      for field in [
        "Origin: https://evil.example", "Origin: null", "Origin: http://nas.test",
        "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site",
      ] {
        #expect(
          try proxy.call("GET", "/api/v1/session", [cookie, field]).status == 403, "\(field)")
      }
      let direct = "Host: 127.0.0.1:\(proxy.port)"
      #expect(try proxy.call("GET", "/api/v1/session", [cookie], host: direct).status == 403)
      let elsewhere = try proxy.call("GET", "/api/v1/session", [cookie], host: "Host: evil.test")
      #expect(elsewhere.status == 421 && elsewhere.body.contains("'public-url'"))
      let wrong = cookie.dropLast() + (cookie.hasSuffix("0") ? "1" : "0")
      #expect(try proxy.call("GET", "/api/v1/session", [String(wrong)]).status == 401)
      #expect(try proxy.call("GET", "/api/v1/session", [cookie]).status == 200)
    }
  }

  @Test func `only the login page sends the password, and only with TLS`() async throws {
    try await ProxyFixture.with { (proxy) async throws in
      for fields in [
        [], ["Origin: null"], ["Origin: https://evil.example"], ["Origin: http://nas.test"],
        [ProxyFixture.origin, "Sec-Fetch-Site: cross-site"],
        [ProxyFixture.origin, "Origin: https://evil.example"],
      ] {
        #expect(try proxy.logIn(fields: fields).status == 403, "\(fields)")
      }
      let direct = "127.0.0.1:\(proxy.port)"
      let plain = try proxy.logIn(fields: ["Origin: http://\(direct)"], host: "Host: \(direct)")
      #expect(plain.status == 404)
      #expect(try proxy.call("GET", "/login", host: "Host: \(direct)").status == 404)
      let json = try proxy.call(
        "POST", "/login", [ProxyFixture.origin, "Content-Type: application/json"],
        body: #"{"password":"correct horse"}"#)
      #expect(json.status == 403)
      let long = try proxy.logIn(String(repeating: "x", count: 2000))
      #expect(long.status == 413)
      #expect(try proxy.logIn().status == 303)
    }
    try await ProxyFixture.with(hasPassword: false) { (proxy) async throws in
      #expect(try proxy.call("GET", "/login").status == 404)
      #expect(try proxy.logIn("").status == 404)
    }
  }

  @Test func `wrong tries are limited for their address, and no session notices`() async throws {
    try await ProxyFixture.with { (proxy) async throws in
      let cookie = try proxy.cookie()
      let (page, key) = try proxy.page(cookie)
      var answer = try proxy.logIn("wrong", from: "203.0.113.9")
      #expect(answer.status == 403 && !answer.head.lowercased().contains("set-cookie"))
      // The client writes the first ones, the proxy the last one.
      var tries = 1
      while answer.status == 403, tries < 9 {
        answer = try proxy.logIn("wrong", from: "198.51.100.\(tries), 203.0.113.9")
        tries += 1
      }
      #expect(answer.status == 429 && answer.head.lowercased().contains("retry-after: "))
      let refused = ContinuousClock.now
      let right = try proxy.logIn(from: "203.0.113.9").status
      // Unless the first, short limit was over.
      #expect(right == 429 || .now - refused > .seconds(1), "also the right one")
      #expect(try proxy.call("GET", "/api/v1/status", page).status == 200)
      #expect(try proxy.logIn(from: "203.0.113.10").status == 303)
      // The owner at the same address has signed in before, and signs in again.
      #expect(try await proxy.fixture.haul("ui", "--end", key.session).status == 0)
      let known = [ProxyFixture.origin, cookie]
      #expect(try proxy.logIn(from: "203.0.113.9", fields: known).status == 303)
      let log = try await proxy.log()
      #expect(log.contains("a wrong password was sent from 203.0.113.9"), "\(log)")
      #expect(!log.contains(ProxyFixture.password))
    }
  }

  @Test func `what is no address in X-Forwarded-For counts as the proxy`() async throws {
    try await ProxyFixture.with { (proxy) async throws in
      var answer = try proxy.logIn("wrong", from: "not an address")
      for number in 1..<9 where answer.status == 403 {
        answer = try proxy.logIn("wrong", from: "10.0.0.\(number), x\(number)")
      }
      #expect(answer.status == 429, "all are the proxy itself")
    }
  }

  @Test
  func `sessions are listed and ended in the page and by command, and a new password ends all`()
    async throws
  {
    try await ProxyFixture.with { (proxy) async throws in
      let (mine, other) = (try proxy.cookie(), try proxy.cookie())
      let (page, key) = try proxy.page(mine)
      let (_, second) = try proxy.page(other)
      let list = try proxy.call("GET", "/api/v1/sessions", page)
      #expect(list.status == 200 && list.body.contains(key.session))
      #expect(list.body.contains(second.session) && !list.body.contains(key.key))
      let end = try proxy.call("DELETE", "/api/v1/sessions/\(second.session)", page)
      #expect(end.status == 204)
      #expect(try proxy.call("GET", "/api/v1/session", [other]).status == 401)
      #expect(try proxy.call("GET", "/api/v1/session", [mine]).status == 200)
      let command = try await proxy.fixture.haul("ui", "--end", key.session)
      #expect(command.status == 0)
      #expect(try proxy.call("GET", "/api/v1/session", [mine]).status == 401)
      #expect(try proxy.call("GET", "/api/v1/status", page).status == 401)

      let third = try proxy.cookie()
      let (last, _) = try proxy.page(third)
      try ProxyFixture.setPassword(proxy.fixture, "another horse")
      #expect(try proxy.call("GET", "/api/v1/session", [third]).status == 401)
      #expect(try proxy.call("GET", "/api/v1/status", last).status == 401)
      #expect(try proxy.logIn(from: "192.0.2.2").status == 403)
      #expect(try proxy.logIn("another horse", from: "192.0.2.2").status == 303)
    }
  }

  @Test func `a session outlives the daemon`() async throws {
    try await ProxyFixture.with { (proxy) async throws in
      let cookie = try proxy.cookie()
      #expect(try await proxy.fixture.haul("daemon", "stop").status == 0)
      let serving = try await proxy.fixture.serve(
        "--listen", "127.0.0.1:0", "--public-url", "https://nas.test/")
      try await serving.reach("it listened") { _, errors in errors.contains("of 127.0.0.1") }
      let number = serving.firstError(matching: /listening on port (\d+)/)
      let later = ProxyFixture(
        fixture: proxy.fixture, serving: serving, port: try #require(number.flatMap { Int($0) }))
      let (page, _) = try later.page(cookie)
      #expect(try later.call("GET", "/api/v1/status", page).status == 200)
    }
  }

  @Test func `below a path, the cookie is for that path, and ui prints it`() async throws {
    try await ProxyFixture.with(path: "/haul/") { (proxy) async throws in
      let answer = try proxy.logIn()
      #expect(answer.head.contains("__Secure-haul=") && answer.head.contains("; Path=/haul/; "))
      _ = try proxy.page(try proxy.cookie())
      let ui = try await proxy.fixture.haul("ui", "--no-open")
      #expect(ui.output.hasPrefix("https://nas.test/haul/#code="))
      for name in ["/", "/login"] {
        let text = try proxy.call("GET", name).body
        #expect(text.matches(of: /(?:src|href|action)="\//).isEmpty, "\(name) has no whole paths")
      }
    }
  }

  @Test func `the command sets a password from standard input, and refuses a short one`()
    async throws
  {
    try await DaemonFixture.with { (fixture) async throws in
      try await fixture.shell("printf 'canary horse\\n' | haul ui password")
      let access = try AccessList(file: try fixture.location().access)
      let stored = try #require(access.password)
      #expect(try stored.matches(Array("canary horse".utf8)))
      let short = try await CommandRun(
        ["-c", "echo short | '\(CommandRun.executable.path)' ui password"],
        in: fixture.work.directory, environment: fixture.environment, program: "/bin/sh"
      ).end()
      #expect(short.status == 2 && short.errors.contains("8 to 256"))
      #expect(access.password == stored)
      #expect(try await fixture.haul("ui", "password", "--remove").status == 0)
      #expect(access.password == nil)
      #expect(try await fixture.haul("ui", "--remove").status == 2)
    }
  }
}
