import Foundation
import HaulLibC
import HaulTesting
import Testing

/// The proxies of docs/web.md, with a real daemon behind them.
@Suite(.timeLimit(.minutes(10)))
struct ProxyRecipeRuns {
  private static let programs = ["nginx": "/usr/sbin/nginx", "caddyfile": "/usr/bin/caddy"]
  private static let curl = "/usr/bin/curl"
  private static let arePossible = (Array(programs.values) + [curl])
    .allSatisfy(FileManager.default.isExecutableFile)

  /// The recipe of the documentation, with real paths and a port.
  private static func recipe(
    _ language: String, _ path: String, _ port: Int, _ fixture: DaemonFixture
  ) throws -> String {
    let page = try DocumentPage("docs/web.md")
    let blocks = page.blocks.filter { $0.language == language }.map {
      $0.lines.joined(separator: "\n")
    }
    let hasOwn = blocks.count > 1 && path != "/"
    let text = try #require(hasOwn ? blocks.last : blocks.first)
      .replacing("/srv/haul/haul.sock", with: fixture.work.path("p.sock"))
    let (certificate, key) = (fixture.work.path("c.pem"), fixture.work.path("k.pem"))
    guard language == "nginx" else {
      let name = "https://nas.example:\(port) {\n  bind 127.0.0.1\n  tls \(certificate) \(key)"
      return "{\n  admin off\n  auto_https disable_redirects\n}\n"
        + text.replacing("nas.example {", with: name)
    }
    let own = text.replacing("listen 443", with: "listen 127.0.0.1:\(port)")
      .replacing("/etc/ssl/nas.pem", with: certificate)
      .replacing("/etc/ssl/nas.key", with: key)
      .replacing("location / {", with: "location \(path) {")
    let places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map { "\($0)_temp_path \(fixture.work.path($0));\n" }.joined()
    return "daemon off;\npid \(fixture.work.path("pid"));\nerror_log stderr;\nevents {}\nhttp {\n"
      + "access_log off;\n\(places)\(own)\n}\n"
  }

  /// A port that is free now.
  private static func freePort() throws -> Int {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    try #require(isBound)
    return Int(UInt16(bigEndian: address.sin_port))
  }

  @Test(
    .enabled(if: arePossible, "nginx, Caddy or curl is missing"),
    arguments: ["nginx", "caddyfile"], ["/", "/haul/"])
  func `A browser signs in through the proxy of the documentation`(
    language: String, path: String
  ) async throws {
    try await DaemonFixture.with { (fixture) async throws in
      let port = try Self.freePort()
      try ProxyFixture.setPassword(fixture)
      let pair = try CertificateAuthority().client()
      try fixture.write(pair.certificate, to: "c.pem")
      try fixture.write(pair.key, to: "k.pem")
      let url = "https://nas.example:\(port)\(path)"
      let serving = try await fixture.serve(
        "--listen", "unix:\(fixture.work.path("p.sock"))", "--public-url", url,
        // As which nginx works if the superuser starts it.
        "--proxy-user", "nobody", "--proxy-user", "www-data")
      try await serving.reach("it listened") { _, errors in errors.contains("on unix:") }
      try fixture.write(try Self.recipe(language, path, port, fixture), to: "proxy.conf")
      let file = fixture.work.path("proxy.conf")
      let proxy = try await CommandRun(
        language == "nginx"
          ? ["-p", fixture.work.directory, "-c", file, "-e", "stderr"]
          : ["run", "--config", file, "--adapter", "caddyfile"], in: fixture.work.directory,
        program: try #require(Self.programs[language]))
      defer { proxy.send(SIGTERM) }
      func call(_ name: String, _ options: String...) async throws -> String {
        let jar = fixture.work.path("cookies")
        return try await CommandRun(
          [
            "-sik", "--resolve", "nas.example:\(port):127.0.0.1", "-b", jar, "-c", jar, url + name,
          ] + options, in: fixture.work.directory, program: Self.curl
        ).end().output
      }
      // The proxy needs a moment until it listens.
      try await until { try await call("").contains("<title>Haul</title>") }
      #expect(try await call("login").contains("type=\"password\""))
      let origin = "Origin: https://nas.example:\(port)"
      let wrong = try await call("login", "-H", origin, "-d", "password=wrong")
      #expect(wrong.contains(" 403"), "\(wrong)")
      let right = try await call("login", "-H", origin, "-d", "password=correct+horse")
      #expect(right.contains(" 303") && right.contains("; Path=\(path); Secure"), "\(right)")
      let key = try await call("api/v1/session")
      #expect(key.contains("\"login\":true"), "\(key)")
      #expect(try await call("api/v1/status").contains(" 401"))
      #expect(try await fixture.haul("daemon", "stop").status == 0)
      let log = await serving.end().errors
      #expect(log.contains("a session began with the password from 127.0.0.1"), "\(log)")
    }
  }
}
