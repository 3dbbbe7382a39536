import HaulCLI
import HaulCore
import HaulKit
import Testing

/// Network options.
@Suite struct NetworkOptionsTests {
  private func limits(_ arguments: String...) throws -> ManagerOptions {
    guard let plan = try invocation(["get", "https://h/x"] + arguments) as? GetPlan else {
      throw UsageError("that is not a get")
    }
    return plan.managerOptions
  }

  @Test func `each option reaches the engine`() throws {
    #expect(try limits("--http1.1").httpVersion == .http1)
    #expect(try limits("--http2").httpVersion == .http2)
    #expect(try limits().httpVersion == .automatic)
    #expect(try limits("-4").addressFamily == .ipv4)
    #expect(try limits("-6").addressFamily == .ipv6)
    #expect(try limits("-q4").addressFamily == .ipv4)
    #expect(try limits("--interface", "192.0.2.1").localAddress == "192.0.2.1")
    #expect(try limits("--tls-min", "1.3").minimumTLS == .tls13)
    #expect(try limits("--user-agent", "a/1").userAgent == "a/1")
    let resolve = try limits("--resolve", "A.example:[::1]", "--resolve", "b.example:192.0.2.1")
    #expect(resolve.addresses == ["a.example": "::1", "b.example": "192.0.2.1"])
    #expect(
      try limits("--resolve", "a.example:2001:db8::1").addresses["a.example"] == "2001:db8::1")
    let one = try limits("--cert", "c.pem").clientCertificate
    #expect(one == ClientCertificate(certificateFile: "c.pem", keyFile: "c.pem"))
    let two = try limits("--cert", "c.pem", "--key", "k.pem").clientCertificate
    #expect(two == ClientCertificate(certificateFile: "c.pem", keyFile: "k.pem"))
    let plan = try getPlan(
      "https://h/x", "--trust-redirects", "A.example", "--trust-redirects", "b")
    #expect(plan.requests.first?.trustedRedirectHosts == ["a.example", "b"])
  }

  @Test func `a proxy is given, taken from the environment, or disabled`() throws {
    let url = try ResourceURL("https://h/x").origin
    func host(_ limits: ManagerOptions, _ environment: [String: String]) throws -> String? {
      try limits.configuration(logger: nil, environment: environment).proxies.proxy(for: url)?.host
    }
    let environment = ["https_proxy": "http://e:1", "no_proxy": "n.example"]
    #expect(try host(limits(), [:]) == nil)
    #expect(try host(limits(), environment) == "e")
    #expect(try host(limits("--proxy", "socks5h://p"), environment) == "p")
    #expect(try host(limits("--proxy", ""), environment) == nil)
    #expect(try host(limits("--noproxy", "h"), environment) == nil)
    #expect(try host(limits("--noproxy", ""), ["no_proxy": "h", "all_proxy": "http://e:1"]) == "e")
  }

  @Test(arguments: [
    ["--http1.1", "--http2"], ["-4", "-6"], ["--tls-min", "1.1"], ["--tls-min", "tls1.2"],
    ["--key", "k.pem"], ["--cert", ""], ["--interface", "eth0"], ["--interface", "[::1]"],
    ["-4", "--interface", "::1"], ["-6", "--resolve", "a:192.0.2.1"],
    ["--resolve", "a"], ["--resolve", "a:443:192.0.2.1"], ["--resolve", ":192.0.2.1"],
    ["--resolve", "a:b.example"], ["--resolve", "a:192.0.2.1", "--resolve", "A:192.0.2.2"],
    ["--user-agent", ""], ["--user-agent", "a\nb"], ["--trust-redirects", ""],
    ["--trust-redirects", "https://a.example"], ["--proxy", "ftp://p"],
    ["--proxy", "http://p:x"],
  ])
  func `a wrong value is refused`(arguments: [String]) {
    let message = refusal(["get", "https://h/x"] + arguments)
    #expect(message != nil)
    #expect(message?.contains("not yet supported") == false)
  }

  @Test(arguments: [
    "10.0.0.0/33", "10.0.0.0/x", "10.0.0.0/-1", "10.0.0.0/", "10.0.0/8", "::/129", "h.example/8",
    "10.0.0", "1.2.3.256", "1.2.3.4:0", "h.example:99999", "a..b", "*.example", "[::1", "h:x",
    ".",
    "https://h",
  ])
  func `an exception from the proxy that matches nothing is refused with a message`(entry: String)
    throws
  {
    for list in [entry, "a.example,\(entry)", "\(entry) a.example"] {
      let message = try #require(refusal(["get", "https://h/x", "--noproxy", list]))
      #expect(message.hasPrefix("--noproxy: '\(entry)' is not a host"), "\(message)")
    }
  }

  @Test func `every form of an exception from the proxy is accepted`() throws {
    let list =
      "*,h,.a.example,a.example.,a.example:80,192.0.2.1,192.0.2.1:8080,10.0.0.0/8,::1,"
      + "[::1],[::1]:80,2001:db8::/32 x_y 0.0.0.0/0"
    #expect(try limits("--noproxy", list).noProxy == list)
    #expect(try limits("--noproxy", "").noProxy == "")
  }

  @Test func `a proxy's password is in no message`() {
    let message = refusal(["get", "https://h/x", "--proxy", "ftp://user:hidden@p"])
    #expect(message != nil)
    #expect(message?.contains("hidden") == false)
  }
}
