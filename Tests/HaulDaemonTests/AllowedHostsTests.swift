import HaulControl
import HaulDaemon
import NIOCore
import Testing

/// The names that `Host` may have.
@Suite struct AllowedHostsTests {
  private func hosts(
    _ text: String, isSecure: Bool = true, port: Int? = 8443, names: [String] = [],
    url: String? = nil
  ) throws -> AllowedHosts {
    let address = try #require(ListenAddress(text))
    let hosts = AllowedHosts(isSecure: isSecure)
    hosts.open(
      address, port: port,
      RemoteAccess(
        listeners: [address], roots: [], hosts: try names.map { try #require(HostName($0)) },
        publicURL: url.flatMap { PublicAddress($0) }))
    return hosts
  }

  private func local(_ text: String) throws -> SocketAddress {
    try SocketAddress(ipAddress: text, port: 8443)
  }

  @Test func `a name that is not configured is refused, also where every address listens`() throws {
    let hosts = try hosts("0.0.0.0:8443", names: ["nas", "nas.example:443"])
    let at = try local("192.168.1.2")
    for good in ["nas:8443", "NAS:8443", "nas.example", "nas.example:443", "192.168.1.2:8443"] {
      #expect(hosts.origin(of: good, at: at)?.mayLogIn == true, "\(good)")
    }
    for wrong in [
      "evil.example:8443", "nas", "nas:80", "nas.:8443", "nas.evil.example:8443", "nas:8443:1",
      "u@nas:8443", "nas.example:8443", "192.168.1.2", "192.168.1.3:8443", "192.168.1.2.:8443",
      "3232235778:8443", "0.0.0.0:8443", "", ":8443", "[::ffff:192.168.1.3]:8443",
    ] {
      #expect(hosts.origin(of: wrong, at: at) == nil, "\(wrong)")
    }
    #expect(hosts.origin(of: "192.168.1.2:8443", at: nil) == nil)
  }

  @Test func `an address of the machine is only the one to which the connection was made`() throws {
    let hosts = try hosts("[::]:8443")
    #expect(hosts.origin(of: "192.168.1.2:8443", at: try local("::ffff:192.168.1.2")) != nil)
    #expect(hosts.origin(of: "[2001:db8::1]:8443", at: try local("2001:db8::1")) != nil)
    #expect(hosts.origin(of: "[2001:db8::2]:8443", at: try local("2001:db8::1")) == nil)
    let one = try self.hosts("192.168.1.2:8443")
    #expect(one.origin(of: "192.168.1.2:8443", at: try local("192.168.1.2")) != nil)
    #expect(one.origin(of: "127.0.0.1:8443", at: try local("192.168.1.2")) == nil)
  }

  @Test func `a page has a session where no other program can be, and asks for no password there`()
    throws
  {
    let own = try hosts("127.0.0.1:8443", isSecure: false, names: ["nas"])
    let at = try local("127.0.0.1")
    #expect(own.origin(of: "127.0.0.1:8443", at: at)?.mayHaveSession == true)
    for other in ["localhost:8443", "[::1]:8443", "nas:8443"] {
      #expect(own.origin(of: other, at: at)?.mayHaveSession == false, "\(other)")
    }
    for name in ["127.0.0.1:8443", "localhost:8443", "[::1]:8443", "nas:8443"] {
      #expect(own.origin(of: name, at: at)?.mayLogIn == false, "\(name)")
    }
    let secure = try hosts("[::]:8443")
    for name in ["127.0.0.1:8443", "localhost:8443", "[::1]:8443"] {
      #expect(secure.origin(of: name, at: at)?.mayLogIn == false, "\(name)")
    }
    #expect(secure.origin(of: "localhost:8443", at: at)?.mayHaveSession == false)
  }

  @Test func `the address of a proxy is https, and has the cookie below its path`() throws {
    let hosts = try hosts(
      "unix:/run/haul.sock", isSecure: false, port: nil, url: "https://nas.example/haul/")
    let origin = try #require(hosts.origin(of: "nas.example", at: nil))
    #expect(origin.isSecure && origin.mayLogIn && origin.authority == "nas.example")
    for wrong in ["nas.example:443", "nas.example:80", "localhost", "127.0.0.1"] {
      #expect(hosts.origin(of: wrong, at: nil) == nil, "\(wrong)")
    }
  }

  @Test func `the usual port of the scheme is left out by browsers`() throws {
    #expect(try hosts("0.0.0.0:443", port: 443, names: ["nas"]).origin(of: "nas", at: nil) != nil)
    let plain = try hosts("127.0.0.1:80", isSecure: false, port: 80)
    #expect(plain.origin(of: "127.0.0.1", at: nil)?.mayHaveSession == true)
    #expect(try hosts("0.0.0.0:80", port: 80, names: ["nas"]).origin(of: "nas", at: nil) == nil)
  }
}
