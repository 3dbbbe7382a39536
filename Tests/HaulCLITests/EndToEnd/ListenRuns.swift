import Foundation
import HaulCLI
import HaulControl
import HaulTesting
import Testing

/// Listeners of a real daemon that other machines or a proxy reach.
@Suite(.timeLimit(.minutes(10)))
struct ListenRuns {
  @Test func `without TLS or a password, other machines reach nothing`() async throws {
    try await DaemonFixture.with { (fixture) async throws in
      for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "localhost.example:0"] {
        let plain = try await fixture.haul("serve", "--listen", address)
        #expect(plain.status == 2 && plain.errors.contains("--tls-self-signed"), "\(address)")
        let proxied = try await fixture.haul(
          "serve", "--listen", address, "--public-url", "https://nas.test/")
        #expect(proxied.status == 2, "\(address)")
      }
      let open = try await fixture.haul("serve", "--listen", "192.0.2.1:0", "--tls-self-signed")
      #expect(open.status == 1 && open.errors.contains("haul ui password"), "\(open.errors)")
      for options in [
        ["--public-url", "https://nas.test/"], ["--tls-self-signed"],
        ["--listen", "unix:\(fixture.work.path("x"))"],
        ["--listen", "127.0.0.1:0", "--tls-cert", "/c"],
        ["--listen", "127.0.0.1:0", "--tls-cert", "c", "--tls-key", "k"],
        ["--listen", "127.0.0.1:0", "--tls-cert", "/c", "--tls-key", "/k", "--tls-self-signed"],
        ["--listen", "127.0.0.1:0", "--host", "a b"],
        ["--listen", "127.0.0.1:0", "--public-url", "http://nas.test/"],
      ] {
        let result = try await fixture.work.haul(
          ["serve"] + options, environment: fixture.environment)
        #expect(result.status == 2, "\(options)")
      }
    }
  }

  @Test(arguments: [("0.0.0.0", "0.0.0.0"), ("[::]", "::")])
  func `with both, a client over TLS is answered by name, and one without TLS is not`(
    address: String, named: String
  ) async throws {
    try await DaemonFixture.with { (fixture) async throws in
      try ProxyFixture.setPassword(fixture)
      let serving = try await fixture.serve(
        "--listen", "\(address):0", "--tls-self-signed", "--host", "nas.test")
      try await serving.reach("it listened") { _, errors in errors.contains("of \(named)") }
      let port = try #require(
        serving.firstError(matching: /listening on port (\d+)/).flatMap { Int($0) })
      let fingerprint = try #require(
        serving.firstError(matching: /fingerprint ((?:[0-9A-F]{2}:){31}[0-9A-F]{2})/))
      #expect(try await fixture.haul("daemon", "status").output.contains(fingerprint))
      let token = try String(contentsOfFile: try fixture.location().token, encoding: .utf8)
        .trimmingCharacters(in: .newlines)
      let file = try fixture.location().certificate
      let pem = try String(contentsOfFile: file, encoding: .utf8)
      let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions]
      #expect(mode as? Int == 0o600)
      let start = try #require(pem.range(of: "-----BEGIN CERTIFICATE")).lowerBound
      try fixture.write(String(pem[start...]), to: "trusted.pem")
      func get(_ host: String, _ path: String) async throws -> CommandResult {
        try await fixture.haul(
          "get", "https://\(host):\(port)\(path)", "-o", "-", "--cacert",
          fixture.work.path("trusted.pem"), "--resolve", "\(host):127.0.0.1", "-H",
          "Authorization: Bearer \(token)", "--retries", "0")
      }
      let good = try await get("nas.test", "/api/v1/status")
      #expect(good.status == 0 && good.output.contains("\"version\""), "\(good.errors)")
      let login = try await get("nas.test", "/login")
      #expect(login.status == 0 && login.output.contains("type=\"password\""), "\(login.errors)")
      // The certificate is good for localhost too, where nobody may log in.
      #expect(try await get("localhost", "/api/v1/status").status == 0)
      #expect(try await get("localhost", "/login").status == 1)
      #expect(try await get("evil.test", "/api/v1/status").status == 1)

      let plain = try SocketCall.connection(to: .port(port))
      try plain.write(
        contentsOf: Data("GET / HTTP/1.1\r\nHost: nas.test:\(port)\r\n\r\n".utf8))
      let answer = (try? plain.readToEnd()) ?? Data()
      #expect(!String(decoding: answer, as: UTF8.self).contains("HTTP/1.1"))
      #expect(try await fixture.haul("daemon", "stop").status == 0)
      let again = try await fixture.serve(
        "--listen", "\(address):0", "--tls-self-signed", "--host", "nas.test")
      try await again.reach("it listened") { _, errors in errors.contains("of \(named)") }
      #expect(again.firstError(matching: /fingerprint ([0-9A-F:]+)/) == fingerprint, "it is kept")
      #expect(try await fixture.haul("daemon", "stop").status == 0)
      let more = try await fixture.serve(
        "--listen", "\(address):0", "--tls-self-signed", "--host", "nas.test", "--host", "new.test")
      try await more.reach("it listened") { _, errors in errors.contains("of \(named)") }
      #expect(more.firstError(matching: /fingerprint ([0-9A-F:]+)/) != fingerprint)
    }
  }

  @Test func `a client sees the certificate that is given, at an address by its name`() async throws
  {
    try await DaemonFixture.with { (fixture) async throws in
      let making = try await fixture.serve("--listen", "localhost:0", "--tls-self-signed")
      try await making.reach("it listened") { _, errors in errors.contains("listening on port") }
      let pem = try String(contentsOfFile: try fixture.location().certificate, encoding: .utf8)
      let start = try #require(pem.range(of: "-----BEGIN CERTIFICATE")).lowerBound
      #expect(try await fixture.haul("daemon", "stop").status == 0)
      try fixture.write((String(pem[start...]), String(pem[..<start])))
      try FileManager.default.removeItem(atPath: try fixture.location().certificate)
      let serving = try await fixture.serve(["--listen", "localhost:0"] + fixture.pairOptions)
      try await serving.reach("it listened") { _, errors in errors.contains("listening on port") }
      let port = try #require(serving.firstError(matching: /listening on port (\d+)/))
      let token = try String(contentsOfFile: try fixture.location().token, encoding: .utf8)
        .trimmingCharacters(in: .newlines)
      let answer = try await fixture.haul(
        "get", "https://localhost:\(port)/api/v1/status", "-o", "-", "--cacert",
        fixture.work.path("c.pem"), "-H", "Authorization: Bearer \(token)", "--retries", "0")
      #expect(answer.status == 0 && answer.output.contains("\"version\""), "\(answer.errors)")
    }
  }

  @Test func `replaced certificate files are used without a restart, and bad ones are not`()
    async throws
  {
    try await DaemonFixture.with { (fixture) async throws in
      let (first, second) = (
        try CertificateAuthority().client(), try CertificateAuthority().client()
      )
      let options = ["--listen", "127.0.0.1:0"] + fixture.pairOptions
      func serve() async throws -> CommandResult {
        try await fixture.work.haul(
          ["serve"] + options, environment: fixture.environment)
      }
      #expect(try await serve().errors.contains("cannot read"))
      try fixture.write((first.certificate, second.key))
      #expect(try await serve().status == 1, "they do not belong together")
      try fixture.write(first)
      try fixture.write(first.key, to: "k.pem", permissions: 0o644)
      #expect(try await serve().errors.contains("chmod"))
      try fixture.write(first)
      let serving = try await fixture.serve(options)
      try fixture.write("nothing", to: "c.pem", permissions: 0o644)
      try await serving.reach("it kept the old one") { _, errors in
        errors.contains("the old certificate stays")
      }
      try fixture.write(second)
      try await serving.reach("it read the new one") { _, errors in
        errors.contains("the certificate was read again")
      }
    }
  }

  @Test func `a socket for a proxy needs the name of the proxy, and a token`() async throws {
    try await DaemonFixture.with { (fixture) async throws in
      let path = fixture.work.path("p.sock")
      try fixture.write("mine", to: "p.sock")
      let taken = try await fixture.haul(
        "serve", "--listen", "unix:\(path)", "--public-url", "https://nas.test/")
      #expect(taken.status == 1)
      #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
      try FileManager.default.removeItem(atPath: path)
      let serving = try await fixture.serve(
        "--listen", "unix:\(path)", "--public-url", "https://nas.test/")
      try await serving.reach("it listened") { _, errors in errors.contains("unix:\(path)") }
      let token = try String(contentsOfFile: try fixture.location().token, encoding: .utf8)
        .trimmingCharacters(in: .newlines)
      let bearer = "Authorization: Bearer \(token)"
      func status(_ fields: String...) throws -> Int {
        try SocketCall("GET", "/api/v1/status", fields, to: path).status
      }
      #expect(try status("Host: nas.test", bearer) == 200)
      #expect(try status("Host: nas.test") == 401)
      #expect(try status("Host: localhost", bearer) == 421)
      #expect(try status("Host: evil.test", bearer) == 421)
      let other = DaemonFixture(work: fixture.work)
      let second = try await other.work.haul(
        ["serve", "--listen", "unix:\(path)", "--public-url", "https://nas.test/"],
        environment: ["XDG_STATE_HOME": fixture.work.path("t")])
      #expect(second.status == 1 && second.errors.contains("another program uses that socket"))
      #expect(try status("Host: nas.test", bearer) == 200)
      #expect(try await fixture.haul("daemon", "stop").status == 0)
      #expect(!FileManager.default.fileExists(atPath: path))
    }
  }

  @Test func `it says that haul.conf has changed, and a restart reads it`() async throws {
    try await DaemonFixture.with { (fixture) async throws in
      #expect(try await fixture.haul("daemon", "start").status == 0)
      let words = "haul.conf has changed"
      #expect(try await !fixture.haul("daemon", "status").output.contains(words))
      let pid = try await fixture.pid()
      try fixture.write("listen = 127.0.0.1:0\n", to: ".config/haul/haul.conf")
      #expect(try await fixture.haul("daemon", "status").output.contains(words))
      #expect(try await fixture.haul("daemon", "restart").status == 0)
      #expect(try await fixture.pid() != pid)
      #expect(try await !fixture.haul("daemon", "status").output.contains(words))
      let log = try fixture.location().log
      try await until {
        (try? String(contentsOfFile: log, encoding: .utf8))?.contains("of 127.0.0.1") == true
      }
      // There is no password, so that the new one would not start.
      let second = try await fixture.pid()
      try fixture.write("listen = 0.0.0.0:0\ntls-self-signed\n", to: ".config/haul/haul.conf")
      let refused = try await fixture.haul("daemon", "restart")
      #expect(refused.status == 1 && refused.errors.contains("haul ui password"))
      #expect(try await fixture.pid() == second, "the old one goes on")
      try fixture.write("", to: ".config/haul/haul.conf")
      #expect(try await fixture.haul("daemon", "stop").status == 0)
      #expect(try await fixture.haul("daemon", "restart").status == 0)
    }
  }

  @Test func `removing the password says that the next start will fail`() async throws {
    try await DaemonFixture.with { (fixture) async throws in
      let words = "the daemon will not start again"
      let harmless = try await fixture.haul("ui", "password", "--remove")
      #expect(harmless.status == 0 && !harmless.errors.contains(words), "\(harmless.errors)")
      try fixture.write("listen = 0.0.0.0:0\ntls-self-signed\n", to: ".config/haul/haul.conf")
      let removed = try await fixture.haul("ui", "password", "--remove")
      #expect(removed.status == 0 && removed.errors.contains(words), "\(removed.errors)")
      #expect(removed.errors.contains("--listen 0.0.0.0:0: other machines"), "\(removed.errors)")
    }
  }

  @Test func `ui over SSH says how to reach the page`() async throws {
    let ssh = ["SSH_CONNECTION": "192.0.2.1 5000 198.51.100.7 22", "USER": "me"]
    let page = "http://127.0.0.1:4711/#code=x"
    #expect(
      SSHTunnel.hint(page, ssh)
        == "to open it on your machine, run there: ssh -L 4711:127.0.0.1:4711 me@198.51.100.7")
    let other = ["SSH_CONNECTION": "2001:db8::1 5000 2001:db8::7 2222", "USER": "a;b"]
    #expect(
      SSHTunnel.hint(page, other)?.hasSuffix("ssh -p 2222 -L 4711:127.0.0.1:4711 2001:db8::7")
        == true)
    #expect(SSHTunnel.hint("https://nas.test/#code=x", ssh) == nil)
    #expect(SSHTunnel.hint(page, [:]) == nil)
    for wrong in ["", "a b c d", "1.2.3.4 1 $(x) 22", "1.2.3.4 1 1.2.3.4 x"] {
      #expect(SSHTunnel.hint(page, ["SSH_CONNECTION": wrong]) == nil, "\(wrong)")
    }
    try await DaemonFixture.with { (fixture) async throws in
      let shown = try await fixture.work.haul(
        ["ui", "--no-open"], environment: fixture.environment.merging(ssh) { $1 })
      #expect(shown.errors.contains("ssh -L ") && shown.errors.contains("me@198.51.100.7"))
      #expect(try await fixture.haul("daemon", "stop").status == 0)
    }
  }
}
