import HaulCore
import Testing

/// Proxies.
@Suite struct ProxyRulesTests {
  private func origin(_ text: String) throws -> ResourceURL.Origin { try ResourceURL(text).origin }

  @Test(arguments: [
    ("http://proxy.example:3128", ProxyRules.Proxy.Kind.http, "proxy.example", 3128),
    ("proxy.example:3128", .http, "proxy.example", 3128),
    ("http://PROXY.example/", .http, "proxy.example", 1080),
    ("socks5://192.0.2.1", .socks5, "192.0.2.1", 1080),
    ("socks5h://[2001:db8::1]:9", .socks5, "2001:db8::1", 9),
    ("socks://192.0.2.1:1080/", .socks5, "192.0.2.1", 1080),
    ("http://user:p%40ss@h:1", .http, "h", 1),
  ])
  func `the address of a proxy is parsed`(
    text: String, kind: ProxyRules.Proxy.Kind, host: String, port: Int
  ) throws {
    let proxy = try ProxyRules.Proxy(text)
    #expect(proxy.kind == kind)
    #expect(proxy.host == host)
    #expect(proxy.port == port)
  }

  @Test func `user name and password are decoded once, and never shown`() throws {
    let proxy = try ProxyRules.Proxy("socks5://us%2Fer:p%40ss:word@h:1")
    #expect(proxy.credentials?.user == "us/er")
    #expect(proxy.credentials?.password == "p@ss:word")
    #expect("\(proxy)" == "h:1")
  }

  @Test(arguments: [
    "https://hidden:hidden@h:1", "ftp://hidden@h", "http://", "http://hidden@", "http://h:0",
    "http://hidden@h:65536", "http://hidden@h:x", "http://hidden@h/path", "socks4://hidden@h",
    "http://[hidden]:1", "socks5://:hidden@h:1", "http://h idden",
  ])
  func `an invalid address of a proxy is refused without being repeated`(text: String) {
    let error = #expect(throws: TransferError.self) { try ProxyRules.Proxy(text) }
    #expect(error?.code == .badURL)
    #expect(error?.message.contains("hidden") == false)
  }

  @Test(arguments: [
    ("example.org", "http://example.org", true),
    ("example.org", "http://www.example.org", true),
    (".example.org", "http://example.org", true),
    ("EXAMPLE.org.", "http://example.org./", true),
    ("example.org", "http://notexample.org", false),
    ("ample.org", "http://example.org", false),
    ("example.org:8080", "http://example.org:8080", true),
    ("example.org:8080", "http://example.org", false),
    ("a.example, b.example", "http://b.example", true),
    ("a.example b.example", "http://b.example", true),
    ("*", "https://anything.example", true),
    ("*.example", "http://a.example", false),
    ("192.0.2.1", "http://192.0.2.1", true),
    ("192.0.2.1", "http://192.0.2.10", false),
    ("2.1", "http://192.0.2.1", false),
    ("192.0.2.0/24", "http://192.0.2.77", true),
    ("192.0.2.0/25", "http://192.0.2.200", false),
    ("0.0.0.0/0", "http://192.0.2.1", true),
    ("10.0.0.0/33", "http://10.0.0.0", false),
    ("2001:db8::/32", "http://[2001:db8:1::1]", true),
    ("2001:db8::1", "http://[2001:db8:0:0::1]", true),
    ("[2001:db8::1]", "http://[2001:db8::1]", true),
    ("2001:db8::/32", "http://192.0.2.1", false),
    ("", "http://example.org", false),
  ])
  func `exceptions match as in curl`(list: String, url: String, isException: Bool) throws {
    #expect(ProxyExceptions(list).contains(try origin(url)) == isException)
  }

  @Test func `lower-case variables come first, and HTTP_PROXY is ignored`() throws {
    let rules = try ProxyRules(environment: [
      "HTTP_PROXY": "http://cgi:1", "https_proxy": "http://low:1", "HTTPS_PROXY": "http://up:1",
      "ALL_PROXY": "socks5://all:1", "no_proxy": "local.example", "NO_PROXY": "*",
    ])
    #expect(try rules.proxy(for: try origin("http://h"))?.host == "all")
    #expect(try rules.proxy(for: try origin("https://h"))?.host == "low")
    #expect(try rules.proxy(for: try origin("https://local.example")) == nil)
    let cgi = try ProxyRules(environment: ["HTTP_PROXY": "http://cgi:1"])
    #expect(try cgi.proxy(for: try origin("http://h")) == nil)
    let plain = try ProxyRules(environment: ["http_proxy": "http://p:1", "all_proxy": "http://a:1"])
    #expect(try plain.proxy(for: try origin("http://h"))?.host == "p")
    #expect(try plain.proxy(for: try origin("https://h"))?.host == "a")
    let empty = try ProxyRules(environment: ["http_proxy": "", "all_proxy": "http://a:1"])
    #expect(try empty.proxy(for: try origin("http://h")) == nil)
  }

  @Test func `options replace the environment`() throws {
    let environment = ["http_proxy": "http://p:1", "NO_PROXY": "a.example"]
    let other = try ProxyRules(environment: environment, given: "http://q:1")
    #expect(try other.proxy(for: try origin("http://h"))?.host == "q")
    #expect(try other.proxy(for: try origin("http://a.example")) == nil)
    let exceptions = try ProxyRules(environment: environment, exceptions: "b.example")
    #expect(try exceptions.proxy(for: try origin("http://a.example"))?.host == "p")
    #expect(try exceptions.proxy(for: try origin("http://b.example")) == nil)
    let none = try ProxyRules(environment: environment, given: "")
    #expect(try none.proxy(for: try origin("http://h")) == nil)
  }

  @Test func `an invalid variable is named where its proxy is needed, without its value`() throws {
    let rules = try ProxyRules(environment: [
      "https_proxy": "ftp://hidden@h", "no_proxy": "local.example",
    ])
    let needing = try origin("https://h")
    let error = #expect(throws: TransferError.self) { try rules.proxy(for: needing) }
    #expect(error?.code == .proxy)
    #expect(error?.message.contains("https_proxy") == true)
    #expect(error?.message.contains("hidden") == false)
    #expect(try rules.proxy(for: try origin("http://h")) == nil)
    #expect(try rules.proxy(for: try origin("https://local.example")) == nil)
  }

  @Test func `an invalid proxy that is given is refused at once`() {
    let error = #expect(throws: TransferError.self) {
      try ProxyRules(environment: [:], given: "socks4://hidden@h")
    }
    #expect(error?.message.contains("hidden") == false)
  }

  @Test(
    arguments: [
      ("192.0.2.1", [192, 0, 2, 1]), ("0.0.0.0", [0, 0, 0, 0]),
      ("::1", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
      ("::", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
      ("2001:db8::a:b", [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xa, 0, 0xb]),
      ("::ffff:192.0.2.1", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1]),
    ] as [(String, [UInt8])])
  func `IP addresses are parsed`(text: String, bytes: [UInt8]) {
    #expect(IPAddress(text)?.bytes == bytes)
  }

  @Test(arguments: [
    "", "192.0.2", "192.0.2.256", "192.0.2.01", "192.0.2.1.", "a.b.c.d", "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9", "::1::", "12345::", "g::", "[192.0.2.1]", ":::", "1::2::3", ":1", "1:",
  ])
  func `invalid IP addresses are refused`(text: String) {
    #expect(IPAddress(text) == nil)
  }
}
