import HaulCore
import Testing

/// Addresses.
@Suite struct ResourceURLTests {
  @Test(arguments: [
    "https://a%2Fb/x", "https://a%00b/x", "https://a%0D%0Ab/x", "https://a%40b/x",
    "https://a%3A80/x", "https://a%20b/x", "https://a,b/x", "https://%5B::1%5D%2F/x",
    "https://[fe80::1%25]/x", "https://[fe80::1%25a%20b]/x",
  ])
  func `An impossible host is refused`(address: String) {
    let error = #expect(throws: TransferError.self) { try ResourceURL(address) }
    #expect(error?.code == .badURL)
  }

  @Test(arguments: [
    ("https://h.example/x", "h.example"), ("https://A_b-c.example./x", "a_b-c.example."),
    ("https://192.0.2.1/x", "192.0.2.1"), ("https://[2001:DB8::1]/x", "2001:db8::1"),
    ("https://a%2Db/x", "a-b"),
  ])
  func `Names and addresses are valid hosts`(address: String, host: String) throws {
    #expect(try ResourceURL(address).origin.host == host)
  }

  @Test func `A zone is of this machine: it tells origins apart, and is not sent`() throws {
    let url = try ResourceURL("http://[FE80::1%25enP1]:8080/x")
    #expect(url.origin.host == "fe80::1%enP1")
    #expect(url.origin.hostField == "[fe80::1]:8080")
    #expect(url.origin != (try ResourceURL("http://[fe80::1%25enP2]:8080/x")).origin)
    #expect(url.origin.isPrivateLiteral)
    #expect(try ResourceURL(url.normalized.absoluteString) == url.normalized)
    #expect(try ResourceURL("https://h:81/x").origin.hostField == "h:81")
  }

  // Found by the fuzzer: one escape becomes a comma inside a DNS label, another name is parsed
  // again as another host.
  @Test(arguments: [
    "https://ux\u{446}x2-%2cl3/x", "http://a55555555555555555555553\u{65E}%555t",
  ])
  func `An international name that cannot be parsed again is refused`(address: String) {
    #expect(throws: TransferError.self) { try ResourceURL(address) }
  }

  @Test func `An international name is parsed again as the same name`() throws {
    for name in ["b\u{FC}cher", "bu\u{308}cher", "B\u{DC}CHER", "\u{4F8B}\u{3048}", "stra\u{DF}e"] {
      let url = try ResourceURL("https://\(name).example/x")
      #expect(try ResourceURL(url.absoluteString) == url)
    }
  }

  @Test(arguments: [
    ("http://h/a/x/../t", "/a/t"), ("http://h/../t?q=/../", "/t?q=/../"),
    ("http://h/a/./t", "/a/t"),
    ("http://h/a/..", "/"), ("http://h/a/.", "/a/"), ("http://h/..", "/"),
    ("http://h/a//../b", "/a/b"),
    ("http://h//../b", "/b"), ("http://h/.a/..b/c../d", "/.a/..b/c../d"),
    ("HTTP://H/%20/../t#x", "/t"), ("http://h/a/b/c/./../../g", "/a/g"),
  ])
  func `Dot segments are removed`(address: String, target: String) throws {
    #expect(try ResourceURL(address).pathAndQuery == target)
  }

  @Test(arguments: [
    ("http://h/a%20b[1].bin", "/a%20b%5B1%5D.bin"),
    ("http://h/\u{E9}/%2F?s=a%2Bb", "/%C3%A9/%2F?s=a%2Bb"),
    ("http://h/a b?x={1}&s=%3D%3d", "/a%20b?x=%7B1%7D&s=%3D%3d"),
    ("http://h/100%/%20", "/100%25/%20"),
    ("http://h/%zz%4", "/%25zz%254"), ("http://b\u{FC}cher.example/%20", "/%20"),
    ("http://u%20v:p[w@h/%20 ", "/%20%20"), ("http://h?a=%20|", "/?a=%20%7C"),
    ("http://h/a#b#c %20", "/a"),
  ])
  func `What may not stand in an address is encoded, and no escape twice`(
    address: String, target: String
  ) throws {
    let url = try ResourceURL(address)
    #expect(url.pathAndQuery == target)
    #expect(try ResourceURL(url.absoluteString).absoluteString == url.absoluteString)
    let location = address.prefix { $0 != "#" }.replacing("http://h/", with: "/")
    if location.hasPrefix("/") {
      #expect(try ResourceURL("http://h/x").resolving(String(location)).pathAndQuery == target)
    }
  }

  @Test(arguments: ["http://@h/", "http://:@h/"])
  func `An empty user is none`(address: String) throws {
    #expect(try ResourceURL(address).credentials == nil)
  }

  // An address with a fragment, which is not sent, always needs the full parser.
  @Test(arguments: [
    "http://h.example/", "https://h.example/a/b-c_d~e.f;g=h,i@j:k!$&'()*+", "http://h:8080/x",
    "https://192.0.2.1/x?a=b&c=/d?e", "https://h.example//x//", "http://h/?", "http://h:65535/x",
    "https://h:443/x", "http://-.h../x", "https://h/a./b..c", "http://h/x?", "http://h:80/",
  ])
  func `A plain address is parsed as by the full parser`(address: String) throws {
    let (plain, whole) = (try ResourceURL(address), try ResourceURL(address + "#"))
    #expect(plain == whole)
    #expect(plain.origin == whole.origin)
    #expect(plain.path == whole.path)
    #expect(plain.pathAndQuery == whole.pathAndQuery)
    #expect(plain.redacted == whole.redacted)
    #expect(plain.absoluteString == address)
  }

  @Test(arguments: [
    "http://h", "http://h?x", "http://h:/x", "http://h:0/x", "http://h:080/x", "http://h:65536/x",
    "http://h:99999999999999999999/x", "http:///x", "http://:80/x", "http://u:p@h/x",
    "HTTP://h/x",
    "http://H/x", "http://h/a b", "http://h/%20", "http://h/%zz", "http://h/[x]", "http://h/\"x",
    "http://h_a/x", "http://xn--bcher-kva.example/x", "http://h/\u{E9}", "http://h/x?a|b",
    "http://a,b/x", "http://[::1]/x", "ftp://h/x", "http:/h/x", "https:h/x", "http://h\\/x",
  ])
  func `An almost plain address is parsed, or refused, as by the full parser`(address: String) {
    let (plain, whole) = (try? ResourceURL(address), try? ResourceURL(address + "#"))
    #expect(plain == whole)
    #expect(plain?.origin == whole?.origin)
    #expect(plain?.pathAndQuery == whole?.pathAndQuery)
  }

  @Test func `Origins differ by scheme, host and port`() throws {
    let addresses = ["http://h/", "https://h/", "http://h:443/", "https://h:80/", "http://i/"]
    let origins = try addresses.map { try ResourceURL($0).origin }
    #expect(Set(origins).count == addresses.count)
    #expect(try ResourceURL("http://h:80/").origin == origins[0])
    #expect(origins[2].authority == "h:443")
    #expect(try ResourceURL("http://[::1]:81/").origin.authority == "[::1]:81")
  }

  @Test func `An address with user information is different from the one without`() throws {
    let (with, without) = (try ResourceURL("http://u:p@h/x"), try ResourceURL("http://h/x"))
    #expect(with != without)
    #expect(with.taking(nil) == without)
    #expect(Set([with, without, with.taking(nil)]).count == 2)
  }
}
