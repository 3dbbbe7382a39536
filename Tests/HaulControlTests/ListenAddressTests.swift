import HaulControl
import HaulCore
import Testing

/// Where the daemon listens, and what its names are.
@Suite struct ListenAddressTests {
  @Test(arguments: [
    ("127.0.0.1:80", "127.0.0.1:80", true), ("localhost:80", "127.0.0.1:80", true),
    ("[::1]:80", "[::1]:80", true), ("[::ffff:127.0.0.1]:1", "[::ffff:127.0.0.1]:1", true),
    ("127.9.9.9:0", "127.9.9.9:0", true), ("0.0.0.0:80", "0.0.0.0:80", false),
    ("[::]:80", "[::]:80", false), ("[::ffff:0.0.0.0]:80", "[::ffff:0.0.0.0]:80", false),
    ("192.168.1.2:80", "192.168.1.2:80", false), ("NAS.example:80", "nas.example:80", false),
    ("127.1:80", "127.1:80", false), ("x.localhost:80", "x.localhost:80", false),
    ("unix:/run/haul.sock", "unix:/run/haul.sock", true),
  ])
  func `only what no other machine can reach is local`(text: String, shown: String, isLocal: Bool)
    throws
  {
    let address = try #require(ListenAddress(text))
    #expect("\(address)" == shown)
    #expect(address.isLocal == isLocal)
  }

  @Test(arguments: [
    "", ":80", "80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:-1",
    "::1:80", "[::1]", "[127.0.0.1]:80", "[x]:80", "a b:80", "a..b:80", "-a:80", "a.:80",
    "a/b:80", "a\n:80", "ä:80", "unix:", "unix:run/x", "unix:/a\u{0}b",
    "unix:/\(String(repeating: "x", count: 107))",
  ])
  func `anything else is refused`(text: String) { #expect(ListenAddress(text) == nil) }

  @Test(arguments: [
    ("https://nas.example", "https://nas.example/"),
    ("https://nas.example:443/haul", "https://nas.example/haul/"),
    ("https://NAS.example:8443/a/b-c_d.e~/", "https://nas.example:8443/a/b-c_d.e~/"),
    ("https://[2001:db8::1]/", "https://[2001:db8::1]/"),
  ])
  func `the address of a proxy is https, and its path ends with a slash`(text: String, url: String)
    throws
  {
    let address = try #require(PublicAddress(text))
    #expect("\(address)" == url)
  }

  @Test(arguments: [
    "http://nas.example/", "HTTPS://nas.example/", "https:///", "https://u@nas.example/",
    "https://nas.example/?x", "https://nas.example/#x", "https://nas.example/a b",
    "https://nas.example/a;b", "https://nas.example/a,b", "https://nas.example//",
    "https://nas.example/../", "https://nas.example/a\r\nX: y", "https://nas.example/%41",
    "nas.example", "https://nas.example\\x/",
  ])
  func `other addresses of a proxy are refused`(text: String) {
    #expect(PublicAddress(text) == nil)
  }

  @Test func `what other machines reach needs TLS and a password`() throws {
    for text in ["0.0.0.0:80", "[::]:80", "192.168.1.2:80", "nas.example:80"] {
      let exposed = try #require(ListenAddress(text))
      let local = try #require(ListenAddress("127.0.0.1:80"))
      var access = RemoteAccess(listeners: [local, exposed], roots: [])
      let cases: [(CertificateSource?, Bool)] = [
        (nil, false), (nil, true), (.selfSigned, false),
      ]
      for (tls, hasPassword) in cases {
        access.tls = tls
        let refusal = try #require(access.refusal(hasPassword: hasPassword), "\(text)")
        #expect(refusal.message.contains("--listen \(text)"))
        #expect(refusal.message.contains("--tls-self-signed") == (tls == nil))
        #expect(refusal.message.contains("haul ui password") == !hasPassword)
      }
      access.tls = .selfSigned
      #expect(access.refusal(hasPassword: true) == nil)
      // A proxy's address makes nothing safer that can be reached without it.
      access.tls = nil
      access.publicURL = PublicAddress("https://nas.example/")
      #expect(access.refusal(hasPassword: true) != nil)
    }
    for text in ["127.0.0.1:80", "[::1]:80", "unix:/run/haul.sock"] {
      let access = RemoteAccess(listeners: [try #require(ListenAddress(text))], roots: [])
      #expect(access.refusal(hasPassword: false) == nil, "\(text)")
    }
  }

  @Test func `a new page is where the browser reaches it`() throws {
    let (any, unix) = (ListenAddress("0.0.0.0:80"), ListenAddress("unix:/s"))
    let listeners = [try #require(unix), try #require(any)]
    var access = RemoteAccess(listeners: listeners, roots: [], tls: .selfSigned)
    #expect(access.page(at: listeners[0], port: nil) == nil)
    #expect(access.page(at: listeners[1], port: 81) == "https://127.0.0.1:81/")
    access.hosts = [HostName(host: "nas", port: nil)]
    #expect(access.page(at: listeners[1], port: 81) == "https://nas:81/")
    access.publicURL = PublicAddress("https://nas.example/haul/")
    #expect(access.page(at: listeners[0], port: nil) == "https://nas.example/haul/")
    let own = ListenAddress.tcp(host: "127.0.0.1", port: 0)
    #expect(RemoteAccess(roots: []).page(at: own, port: 82) == "http://127.0.0.1:82/")
  }
}
