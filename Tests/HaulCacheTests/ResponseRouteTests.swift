import Foundation
import HaulCache
import HaulCore
import HaulKit
import Testing

@Suite struct ResponseRouteTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func text(
    _ address: String = "https://example.com/",
    _ change: (inout TransferManager.Configuration) throws -> Void
  ) throws -> String {
    var configuration = TransferManager.Configuration()
    try change(&configuration)
    return ResponseRoute(configuration).text(to: try ResourceURL(address).origin)
  }

  private func file(_ name: String, _ text: String) throws -> String {
    let path = directory.path + "/" + name
    try Data(text.utf8).write(to: URL(filePath: path))
    return path
  }

  @Test func `a direct route with the defaults is empty, so that older copies keep their keys`()
    throws
  {
    #expect(try text { _ in }.isEmpty)
    let url = try ResourceURL("http://example.com/a")
    let key = ResourceKey(ResourceRequest(url))
    #expect(key.digest == key.digest(over: ""))
    #expect(key.digest != key.digest(over: "x"))
  }

  @Test func `each proxy is a route of its own, where it is used, without its password`() throws {
    func route(_ proxy: String, except: String = "") throws -> String {
      try text { $0.proxies = ProxyRules(try ProxyRules.Proxy(proxy), exceptions: except) }
    }
    let routes = try ["http://p:1", "http://p:2", "socks5://p:1", "http://u:secret@p:1"]
      .map { try route($0) }
    #expect(Set(routes + [""]).count == 5)
    #expect(!routes.joined().contains("secret"))
    #expect(try route("http://P:1") == route("http://p:1"))
    #expect(try route("http://p:1", except: "example.com").isEmpty)
    let unreadable = try ProxyRules(environment: ["all_proxy": "ftp://p:1"])
    #expect(try !text { $0.proxies = unreadable }.isEmpty)
  }

  @Test func `certificates count by their contents, and only for https`() throws {
    let (first, second) = (try file("1.pem", "one"), try file("2.pem", "two"))
    func route(_ path: String, _ address: String = "https://example.com/") throws -> String {
      try text(address) { $0.certificateAuthorities = path }
    }
    let one = try route(first)
    #expect(!one.isEmpty && !one.contains(directory.path))
    #expect(try route(second) != one)
    #expect(try route(file("3.pem", "one")) == one)
    #expect(try route(first, "http://example.com/").isEmpty)
    _ = try file("1.pem", "other")
    #expect(try route(first) != one)
  }

  @Test func `the oldest TLS version, a client certificate and another address count`() throws {
    let path = try file("1.pem", "one")
    let routes = try [
      text { $0.minimumTLS = .tls13 },
      text {
        $0.clientCertificate = ClientCertificate(certificateFile: path, keyFile: path)
      },
      text { $0.addresses = ["example.com": "127.0.0.1"] },
      text { $0.addresses = ["example.com": "127.0.0.2"] },
    ]
    #expect(Set(routes + [""]).count == 5)
    #expect(try text { $0.addresses = ["example.org": "127.0.0.1"] }.isEmpty)
  }
}
