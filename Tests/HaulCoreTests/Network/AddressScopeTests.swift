import HaulCore
import Testing

/// Public and private addresses.
@Suite
struct AddressScopeTests {
  @Test(arguments: [
    "0.0.0.0", "0.1.2.3", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1",
    "127.255.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.8",
    "192.168.255.1", "198.18.0.1", "198.19.255.255", "224.0.0.1", "240.0.0.1",
    "255.255.255.255", "::", "::1", "::127.0.0.1", "::ffff:10.0.0.1", "::ffff:7f00:1",
    "64:ff9b::a00:1", "64:ff9b::127.0.0.1", "64:ff9b:1::1", "2002:7f00:1::", "2002:a00:1::1",
    "fc00::1", "fdff::1", "fe80::1", "febf::1", "fec0::1", "ff02::1",
  ])
  func `are not public: this machine, private networks, multicast, reserved blocks, in every form`(
    text: String
  ) throws {
    #expect(try #require(IPAddress(text)).isPublic == false)
  }

  @Test(arguments: [
    "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "128.0.0.0",
    "169.253.0.1", "172.15.255.255", "172.32.0.0", "192.0.1.1", "192.167.0.1", "198.17.0.1",
    "198.20.0.0", "223.255.255.255", "2001:4860::1", "::ffff:1.1.1.1", "64:ff9b::101:101",
    "2002:101:101::1", "fbff::1",
  ])
  func `are public`(text: String) throws {
    #expect(try #require(IPAddress(text)).isPublic)
  }

  @Test(arguments: [
    ("http://127.0.0.1", true), ("http://127.1", true), ("http://0x7f.1", true),
    ("http://2130706433", true), ("http://0177.0.0.1", true), ("http://0x7f000001", true),
    ("http://localhost", true), ("http://localhost.", true), ("http://a.LocalHost.", true),
    ("http://[::1]", true), ("http://10.1", true), ("http://192.168.257", true),
    ("http://1.1", false), ("http://16843009", false), ("http://0x101", true),
    ("http://localhost.example", false), ("http://127.example", false), ("http://1x.1", false),
  ])
  func `without a lookup, also in other spellings`(text: String, isPrivate: Bool) throws {
    #expect(try ResourceURL(text).origin.isPrivateLiteral == isPrivate, "\(text)")
  }

  @Test(arguments: [
    ("http://127.0.0.1:9000", true), ("http://127.255.0.1", true), ("http://[::1]/", true),
    ("http://128.0.0.1", false), ("http://126.255.255.255", false), ("http://[::2]", false),
    ("http://localhost", false), ("http://0.0.0.0", false), ("http://10.0.0.1", false),
  ])
  func `A loopback address is this machine; a name may be another`(
    text: String, isLocal: Bool
  ) throws {
    let origin = try ResourceURL(text).origin
    #expect(ProxyRules().keepLocal(origin) == isLocal)
  }

  @Test func `Through a proxy a loopback address may be another machine`() throws {
    let proxy = try ProxyRules.Proxy("http://proxy.example:3128")
    let origin = try ResourceURL("http://127.0.0.1").origin
    #expect(!ProxyRules(proxy).keepLocal(origin))
    #expect(ProxyRules(proxy, exceptions: "127.0.0.0/8").keepLocal(origin))
    let unreadable = try ProxyRules(environment: ["all_proxy": "ftp://proxy.example"])
    #expect(!unreadable.keepLocal(origin))
  }
}
