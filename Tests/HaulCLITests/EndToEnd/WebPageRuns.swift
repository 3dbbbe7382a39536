import Foundation
import HaulControl
import HaulTesting
import Testing

/// The web page of a real daemon: who gets it, and who gets in.
@Suite(.timeLimit(.minutes(10)))
struct WebPageRuns {
  @dynamicMemberLookup
  private struct Page {
    let fixture: DaemonFixture
    let web: WebPage

    subscript<Value>(dynamicMember path: KeyPath<WebPage, Value>) -> Value { web[keyPath: path] }
  }

  private func page(_ fixture: DaemonFixture) async throws -> Page {
    let result = try await fixture.haul("ui", "--no-open")
    try #require(result.status == 0, "\(result.errors)")
    return try Self.page(fixture, result.output)
  }

  /// The page at the address that `haul ui` has printed.
  private static func page(_ fixture: DaemonFixture, _ output: String) throws -> Page {
    let match = try #require(
      output.wholeMatch(of: /http:\/\/127\.0\.0\.1:(\d+)\/#code=([0-9a-f]{32})\n/), "\(output)")
    let web = WebPage(port: try #require(Int(match.output.1)), code: String(match.output.2))
    return Page(fixture: fixture, web: web)
  }

  private func withPage(_ body: (Page) async throws -> Void) async throws {
    try await DaemonFixture.with(CommandFixture.file("/a")) { try await body(try await page($0)) }
  }

  static let files = ["/", "/style.css", "/main.js", "/manifest.webmanifest", "/icon.svg"]

  @Test
  func `a telephone may share with it, and its addresses are below its own, wherever that is`()
    async throws
  {
    try await withPage { (page) async throws in
      let shared = try page.web.call(
        "GET", "/?title=t&url=https%3A%2F%2Fh%2Fx", [page.host] + Self.navigation("document"))
      #expect(shared.status == 200)
      let manifest = try page.web.call("GET", "/manifest.webmanifest", [page.host])
      #expect(manifest.head.lowercased().contains("content-type: application/manifest+json"))
      let icon = try page.web.call("GET", "/icon.svg", [page.host])
      #expect(icon.head.lowercased().contains("content-type: image/svg+xml"))
      // Behind a reverse proxy it may be below a path.
      for path in ["/", "/api.js", "/manifest.webmanifest"] {
        let text = try page.web.call("GET", path, [page.host]).body
        for absolute in [
          "href=\"/", "src=\"/", "\"src\": \"/", "\"start_url\": \"/", "`/api",
        ] {
          #expect(!text.contains(absolute), "\(path) \(absolute)")
        }
      }
      #expect(try await page.fixture.haul("list", "--json").output.isEmpty)
    }
  }

  @Test
  func `its files need no token, and forbid frames, other sources and code in the page`()
    async throws
  {
    try await withPage { (page) async throws in
      for path in Self.files {
        for fields in [[page.host], [page.host, "Sec-Fetch-Site: none"]] {
          let call = try page.web.call("GET", path, fields)
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
      let text = try page.web.call("GET", "/", [page.host]).body
      for forbidden in ["src=\"http", "href=\"http", "style=", "onclick=", "<script>", "<style"] {
        #expect(!text.contains(forbidden), "\(forbidden)")
      }
      let socket = try page.fixture.location().socket
      #expect(try SocketCall("GET", "/", to: socket).status == 404, "not over the socket")
    }
  }

  @Test
  func `its files and its session are refused to another Host, Origin or site`() async throws {
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
        ([page.host] + Self.navigation("iframe"), 403),
      ]
      for (fields, status) in cases {
        for path in Self.files {
          #expect(try page.web.call("GET", path, fields).status == status, "\(path) \(fields)")
        }
        #expect(try page.web.begin(page.code, fields).status == status, "\(fields)")
      }
      let led = [page.host] + Self.navigation("document")
      for path in Self.files {
        let status = try page.web.call("GET", path, led).status
        #expect(status == (path == "/" ? 200 : 403), "\(path)")
      }
      #expect(try page.web.begin(page.code, led + [page.origin]).status == 403)
      #expect(try page.web.begin(page.code, [page.host]).status == 403, "without an Origin")
      // Another program may have the port of [::1], where a browser may look for localhost.
      let named = ["Host: localhost:\(page.port)", "Origin: http://localhost:\(page.port)"]
      #expect(try page.web.begin(page.code, named).status == 403, "at localhost")
      _ = try page.web.token()
    }
  }

  /// What a browser sends when a link or a file leads to the page.
  private static func navigation(_ destination: String) -> [String] {
    ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: \(destination)"]
  }

  @Test func `a code is good once, and its token only in a header`() async throws {
    try await withPage { (page) async throws in
      let own = [page.host, page.origin, "Sec-Fetch-Site: same-origin"]
      #expect(try page.web.begin("0", own).status == 403)
      let token = try page.web.token()
      #expect(try page.web.begin(page.code, own).status == 403, "used twice")
      let bearer = own + ["Authorization: Bearer \(token)"]
      #expect(try page.web.call("GET", "/api/v1/status", bearer).status == 200)
      #expect(try page.web.call("GET", "/api/v1/status?token=\(token)", own).status == 401)
      #expect(
        try page.web.call("GET", "/api/v1/status", own + ["Cookie: token=\(token)"]).status == 401)
      #expect(
        try page.web.call(
          "POST", "/api/v1/ui", bearer + ["Content-Type: application/json"], body: "{}"
        )
        .status == 403, "no new page over TCP")
      let others = [page.host, "Origin: http://evil.example", "Authorization: Bearer \(token)"]
      #expect(try page.web.call("GET", "/api/v1/status", others).status == 403)
      let log = try String(contentsOfFile: try page.fixture.location().log, encoding: .utf8)
      #expect(!log.contains(token) && !log.contains(page.code), "\(log)")
    }
  }

  @Test
  func `after a restart the page and its port are known, its token is not; a new one is elsewhere`()
    async throws
  {
    try await withPage { (page) async throws in
      func status(_ token: String) throws -> Int {
        try page.web.call("GET", "/api/v1/status", [page.host, "Authorization: Bearer \(token)"])
          .status
      }
      let key = try page.web.key()
      let old = try page.web.token(key)
      #expect(try status(old) == 200)
      #expect(try await page.fixture.haul("daemon", "stop").status == 0)
      #expect(try await page.fixture.haul("daemon", "start").status == 0)
      let again = try await self.page(page.fixture)
      #expect(again.port != page.port)
      #expect(try status(old) == 401)
      #expect(try status(try page.web.token(key)) == 200)
      #expect(try again.web.token(key).hasPrefix(key.session), "each address has proofs of its own")
    }
  }

  @Test
  func `a port that another program has taken is named, and new pages are elsewhere`() async throws
  {
    try await withPage { (page) async throws in
      _ = try page.web.key()
      #expect(try await page.fixture.haul("daemon", "stop").status == 0)
      let other = try TakenPort(page.port)
      defer { other.release() }
      #expect(try await page.fixture.haul("daemon", "start").status == 0)
      let words = "another program has port \(page.port), where a page was open"
      while true {
        let status = try await page.fixture.haul("daemon", "status")
        try #require(status.status == 0)
        if status.output.contains(words) { break }
      }
      let ui = try await page.fixture.haul("ui", "--no-open")
      #expect(ui.errors.contains(words) && !ui.output.contains(":\(page.port)/"))
      let log = try String(contentsOfFile: try page.fixture.location().log, encoding: .utf8)
      #expect(log.contains(words))
    }
  }

  @Test
  func `sessions are listed and ended over the socket, and an ended one receives nothing more`()
    async throws
  {
    try await withPage { (page) async throws in
      let key = try page.web.key()
      let own = [page.host, "Authorization: Bearer \(try page.web.token(key))"]
      #expect(try page.web.call("GET", "/api/v1/sessions", own).status == 403)
      #expect(try page.web.call("DELETE", "/api/v1/sessions/\(key.session)", own).status == 403)
      let again = try page.web.call("GET", "/api/v1/session", own)
      #expect(again.status == 200 && again.body.contains(key.key))
      let text = try String(contentsOfFile: try page.fixture.location().token, encoding: .utf8)
      let program = [page.host, "Authorization: Bearer \(text.dropLast())"]
      #expect(try page.web.call("GET", "/api/v1/status", program).status == 200)
      #expect(
        try page.web.call("GET", "/api/v1/session", program).status == 403, "it has no session")

      let list = try await page.fixture.haul("ui", "--sessions")
      #expect(list.output.contains(key.session) && list.output.contains("B/1"))
      #expect(!list.output.contains(key.key))
      #expect(try await page.fixture.haul("ui", "--end", "zz").status == 1)
      let stream = try SocketCall.begin(
        "/api/v1/events", until: "event: ready", own, at: .port(page.port))
      let ended = try await page.fixture.haul("ui", "--end", String(key.session.prefix(10)))
      #expect(ended.status == 0 && ended.output == "ended 1 session\n")
      #expect(try page.web.call("GET", "/api/v1/status", own).status == 401)
      #expect(try await page.fixture.haul("add", "http://127.0.0.1:9/canary", "-q").status == 0)
      let rest = String(decoding: try stream.readToEnd() ?? Data(), as: UTF8.self)
      #expect(!rest.contains("canary"), "\(rest)")
      let none = try await page.fixture.haul("ui", "--sessions")
      #expect(none.output == "no page has a session\n")
    }
  }

  @Test func `--end and --sessions are one or the other`() async throws {
    try await DaemonFixture.with { (fixture) async throws in
      #expect(try await fixture.haul("ui", "--sessions", "--end", "all").status == 2)
    }
  }

  @Test
  func `where there is a desktop, a private file leads to the printed address, until it was used`()
    async throws
  {
    try await DaemonFixture.with { (fixture) async throws in
      let (programs, opened) = (fixture.work.path("bin"), fixture.work.path("opened"))
      try FileManager.default.createDirectory(atPath: programs, withIntermediateDirectories: false)
      let script = """
        #!/bin/sh
        { tr '\\0' ' ' </proc/$$/cmdline; echo; env; cat "$1"; } >'\(opened).new'
        mv '\(opened).new' '\(opened)'

        """
      _ = FileManager.default.createFile(
        atPath: "\(programs)/xdg-open", contents: Data(script.utf8),
        attributes: [.posixPermissions: 0o755])
      func show(_ options: [String], _ desktop: [String: String]) async throws -> String {
        let environment = [
          "PATH": "\(programs):/usr/bin:/bin", "HAUL_PASSWORD": "canary-password",
        ].merging(desktop) { $1 }
        let result = try await fixture.work.haul(
          ["ui"] + options, environment: fixture.environment.merging(environment) { $1 })
        #expect(result.status == 0, "\(result.errors)")
        return result.output
      }
      _ = try await show([], [:])
      _ = try await show(["--no-open"], ["DISPLAY": ":9"])
      let address = try await show([], ["WAYLAND_DISPLAY": "wayland-9"])
      try await until { FileManager.default.fileExists(atPath: opened) }
      let seen = try String(contentsOfFile: opened, encoding: .utf8)
      let arguments = seen.prefix { $0 != "\n" }
      let directory = try fixture.location().redirects
      #expect(arguments.contains(" \(directory)/") && !arguments.contains("code="), "\(arguments)")
      #expect(!seen.contains("canary"), "\(seen)")
      #expect(seen.contains("url=\(address.dropLast())\""), "\(seen)")
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory).count == 1)
      _ = try Self.page(fixture, address).web.token()
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [])
    }
  }

  @Test func `with --listen the page is at that port`() async throws {
    try await DaemonFixture.with(CommandFixture.file("/a")) { fixture in
      let serving = try await fixture.serve(
        "--listen", "127.0.0.1:0", "--root", fixture.work.path("r"))
      try await serving.reach("it listened") { _, errors in errors.contains("of 127.0.0.1") }
      let page = try await self.page(fixture)
      #expect(serving.firstError(matching: /listening on port (\d+)/) == "\(page.port)")
      let token = try page.web.token()
      let outside = try page.web.call(
        "POST", "/api/v1/transfers",
        [page.host, "Authorization: Bearer \(token)", "Content-Type: application/json"],
        body: #"{"transfers":[{"url":"\#(fixture.work.server.url("/a"))","directory":"/"}]}"#)
      #expect(outside.status == 403)
    }
  }
}

/// A port of 127.0.0.1 that is in use.
private struct TakenPort {
  private let descriptor: Int32

  init(_ port: Int) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var one: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    try #require(bound == 0 && listen(descriptor, 1) == 0)
  }

  func release() { close(descriptor) }
}
