import HaulDaemon
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

/// Which requests name one host (RFC 9112, section 3.2).
@Suite struct RequestHostTests {
  /// `Host` of a request once the handler has passed it on.
  private func hosts(_ target: String, _ hosts: [String]) throws -> [String] {
    let channel = EmbeddedChannel(handler: RequestHostHandler())
    let fields = HTTPHeaders(hosts.map { ("Host", $0) } + [("Accept", "*/*")])
    let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: target, headers: fields)
    try channel.writeInbound(HTTPServerRequestPart.head(head))
    let part = try #require(try channel.readInbound(as: HTTPServerRequestPart.self))
    guard case .head(let passed) = part else { return ["no head"] }
    #expect(passed.uri == target && passed.headers["Accept"] == ["*/*"])
    _ = try channel.finish()
    return passed.headers["Host"]
  }

  @Test func `one field is passed on, two are not, also if they are equal`() throws {
    #expect(try hosts("/a", ["nas:1"]) == ["nas:1"])
    #expect(try hosts("/http://evil/", ["nas:1"]) == ["nas:1"])
    #expect(try hosts("//evil/a", ["nas:1"]) == ["nas:1"], "a path")
    #expect(try hosts("*", ["nas"]) == ["nas"])
    for wrong in [[], ["nas", "evil"], ["evil", "nas"], ["nas", "nas"]] {
      #expect(try hosts("/a", wrong) == [], "\(wrong)")
    }
  }

  @Test(arguments: [
    ("http://nas:1/a", "nas:1"), ("http://NAS:1", "nas:1"), ("http://nas/a?b", "nas:80"),
    ("https://nas:443/", "nas"), ("http://[::1]:1/", "[::1]:1"),
  ])
  func `an absolute address agrees with the field`(target: String, host: String) throws {
    #expect(try hosts(target, [host]) == [host])
  }

  @Test(arguments: [
    ("http://evil/a", "nas"), ("http://nas:2/a", "nas:1"), ("https://nas/a", "nas:80"),
    ("http://nas@evil/a", "nas"), ("http://u@nas/a", "nas"), ("http:///a", "nas"),
    ("ftp://nas/a", "nas"), ("nas:80", "nas:80"), ("a", "nas"), ("http://nas/a", "u@nas"),
  ])
  func `an address of another host, or of none, is not passed on`(
    target: String, host: String
  ) throws {
    #expect(try hosts(target, [host]) == [])
  }
}
