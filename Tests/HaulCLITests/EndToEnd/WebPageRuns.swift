import Foundation
import HaulControl
import HaulTesting
import Testing

/// The web page of a real daemon: who gets it, and who gets in.
@Suite("The web page", .timeLimit(.minutes(5)))
struct WebPageRuns {
  private struct Page {
    let fixture: DaemonFixture
    let port: Int
    let code: String

    var host: String { "Host: 127.0.0.1:\(port)" }
    var origin: String { "Origin: http://127.0.0.1:\(port)" }

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

    func token() throws -> String {
      let call = try begin(code, [host, origin, "Sec-Fetch-Site: same-origin"])
      try #require(call.status == 200, "\(call.body)")
      return try JSONDecoder().decode(SessionToken.self, from: Data(call.body.utf8)).token
    }
  }

  private func page(_ fixture: DaemonFixture) async throws -> Page {
    let result = try await fixture.haul("ui", "--no-open")
    try #require(result.status == 0, "\(result.errors)")
    let match = try #require(
      result.output.wholeMatch(of: /http:\/\/127\.0\.0\.1:(\d+)\/#code=([0-9a-f]{32})\n/),
      "\(result.output)")
    return Page(
      fixture: fixture, port: try #require(Int(match.output.1)), code: String(match.output.2))
  }

  private func withPage(_ body: (Page) async throws -> Void) async throws {
    try await DaemonFixture.with(CommandFixture.file("/a")) { try await body(try await page($0)) }
  }

  static let files = ["/", "/style.css", "/main.js"]

  @Test("its files need no token, and forbid frames, other sources and code in the page")
  func files() async throws {
    try await withPage { (page) async throws in
      for path in Self.files {
        for fields in [[page.host], [page.host, "Sec-Fetch-Site: none"]] {
          let call = try page.call("GET", path, fields)
          #expect(call.status == 200)
          let head = call.head.lowercased()
          for field in [
            "default-src 'none'", "script-src 'self';", "frame-ancestors 'none'",
            "require-trusted-types-for 'script'", "x-frame-options: deny",
            "x-content-type-options: nosniff", "referrer-policy: no-referrer",
            "cache-control: no-store", "cross-origin-opener-policy: same-origin",
            "cross-origin-resource-policy: same-origin",
          ] {
            #expect(head.contains(field), "\(path) \(field)")
          }
          #expect(!head.contains("unsafe"))
          #expect(!head.contains("access-control-"))
        }
      }
      let text = try page.call("GET", "/", [page.host]).body
      for forbidden in ["src=\"http", "href=\"http", "style=", "onclick=", "<script>", "<style"] {
        #expect(!text.contains(forbidden), "\(forbidden)")
      }
      let socket = try page.fixture.location().socket
      #expect(try SocketCall("GET", "/", to: socket).status == 404, "not over the socket")
    }
  }

  @Test("its files and its session are refused to another Host, Origin or site")
  func origins() async throws {
    try await withPage { (page) async throws in
      let cases: [(fields: [String], status: Int)] = [
        (["Host: evil.example:\(page.port)"], 421), (["Host: 127.0.0.1"], 421),
        ([page.host, "Origin: http://evil.example"], 403), ([page.host, "Origin: null"], 403),
        ([page.host, "Origin: http://localhost:\(page.port)"], 403),
        ([page.host, "Origin: https://127.0.0.1:\(page.port)"], 403),
        ([page.host, page.origin, "Origin: http://evil.example"], 403),
        ([page.host, "Sec-Fetch-Site: cross-site"], 403),
        ([page.host, "Sec-Fetch-Site: same-site"], 403),
        ([page.host, page.origin, "Sec-Fetch-Site: cross-site"], 403),
      ]
      for (fields, status) in cases {
        for path in Self.files {
          #expect(try page.call("GET", path, fields).status == status, "\(path) \(fields)")
        }
        #expect(try page.begin(page.code, fields).status == status, "\(fields)")
      }
      #expect(try page.begin(page.code, [page.host]).status == 403, "without an Origin")
      _ = try page.token()
    }
  }

  @Test("a code is good once, and its token only in a header")
  func codes() async throws {
    try await withPage { (page) async throws in
      let own = [page.host, page.origin, "Sec-Fetch-Site: same-origin"]
      #expect(try page.begin("0", own).status == 403)
      let token = try page.token()
      #expect(try page.begin(page.code, own).status == 403, "used twice")
      let bearer = own + ["Authorization: Bearer \(token)"]
      #expect(try page.call("GET", "/api/v1/status", bearer).status == 200)
      #expect(try page.call("GET", "/api/v1/status?token=\(token)", own).status == 401)
      #expect(
        try page.call("GET", "/api/v1/status", own + ["Cookie: token=\(token)"]).status == 401)
      #expect(
        try page.call("POST", "/api/v1/ui", bearer + ["Content-Type: application/json"], body: "{}")
          .status == 403, "no new page over TCP")
      let others = [page.host, "Origin: http://evil.example", "Authorization: Bearer \(token)"]
      #expect(try page.call("GET", "/api/v1/status", others).status == 403)
      let log = try String(contentsOfFile: try page.fixture.location().log, encoding: .utf8)
      #expect(!log.contains(token) && !log.contains(page.code), "\(log)")
    }
  }

  @Test("after a restart the daemon is at the same port, and knows the page")
  func restart() async throws {
    try await withPage { (page) async throws in
      let token = try page.token()
      #expect(try await page.fixture.haul("daemon", "stop").status == 0)
      #expect(try await page.fixture.haul("daemon", "start").status == 0)
      let again = try await self.page(page.fixture)
      #expect(again.port == page.port)
      let status = try again.call(
        "GET", "/api/v1/status", [page.host, "Authorization: Bearer \(token)"])
      #expect(status.status == 200)
    }
  }

  @Test("where there is a desktop, the printed address is opened")
  func opens() async throws {
    try await DaemonFixture.with { (fixture) async throws in
      let (programs, opened) = (fixture.work.path("bin"), fixture.work.path("opened"))
      try FileManager.default.createDirectory(atPath: programs, withIntermediateDirectories: false)
      let script =
        "#!/bin/sh\nprintf '%s\\n' \"$1\" > '\(opened).new' && mv '\(opened).new' '\(opened)'\n"
      _ = FileManager.default.createFile(
        atPath: "\(programs)/xdg-open", contents: Data(script.utf8),
        attributes: [.posixPermissions: 0o755])
      func show(_ options: [String], _ desktop: [String: String]) async throws -> String {
        let environment = ["PATH": "\(programs):/usr/bin:/bin"].merging(desktop) { $1 }
        let result = try await fixture.work.haul(
          ["ui"] + options, environment: fixture.environment.merging(environment) { $1 })
        #expect(result.status == 0, "\(result.errors)")
        return result.output
      }
      _ = try await show([], [:])
      _ = try await show(["--no-open"], ["DISPLAY": ":9"])
      let address = try await show([], ["WAYLAND_DISPLAY": "wayland-9"])
      while !FileManager.default.fileExists(atPath: opened) { await Task.yield() }
      #expect(try String(contentsOfFile: opened, encoding: .utf8) == address)
    }
  }

  @Test("with --listen the page is at that port")
  func listening() async throws {
    try await DaemonFixture.with(CommandFixture.file("/a")) { fixture in
      let serving = try await fixture.serve(
        "--listen", "127.0.0.1:0", "--root", fixture.work.path("r"))
      try await serving.reach("it listened") { _, errors in errors.contains("of 127.0.0.1") }
      let page = try await self.page(fixture)
      #expect(serving.firstError(matching: /listening on port (\d+)/) == "\(page.port)")
      let token = try page.token()
      let outside = try page.call(
        "POST", "/api/v1/transfers",
        [page.host, "Authorization: Bearer \(token)", "Content-Type: application/json"],
        body: #"{"transfers":[{"url":"\#(fixture.work.server.url("/a"))","directory":"/"}]}"#)
      #expect(outside.status == 403)
    }
  }
}
