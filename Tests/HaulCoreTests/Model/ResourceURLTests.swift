import HaulCore
import Testing

@Suite("Addresses") struct ResourceURLTests {
  @Test(
    "A host that no name or address can be is refused",
    arguments: [
      "https://a%2Fb/x", "https://a%00b/x", "https://a%0D%0Ab/x", "https://a%40b/x",
      "https://a%3A80/x", "https://a%20b/x", "https://a,b/x", "https://%5B::1%5D%2F/x",
    ])
  func odd(address: String) {
    let error = #expect(throws: TransferError.self) { try ResourceURL(address) }
    #expect(error?.code == .badURL)
  }

  @Test(
    "Names and addresses are hosts",
    arguments: [
      ("https://h.example/x", "h.example"), ("https://A_b-c.example./x", "a_b-c.example."),
      ("https://192.0.2.1/x", "192.0.2.1"), ("https://[2001:DB8::1]/x", "2001:db8::1"),
      ("https://a%2Db/x", "a-b"),
    ])
  func hosts(address: String, host: String) throws {
    #expect(try ResourceURL(address).origin.host == host)
  }

  // Found by the fuzzer: the escape becomes a comma within the letters of the DNS.
  // Another too: it is read back as another host.
  @Test(
    "An international name that cannot be read back is refused",
    arguments: [
      "https://ux\u{446}x2-%2cl3/x", "http://a55555555555555555555553\u{65E}%555t",
    ])
  func unreadable(address: String) {
    #expect(throws: TransferError.self) { try ResourceURL(address) }
  }

  @Test("An international name is read back as the same")
  func international() throws {
    for name in ["b\u{FC}cher", "bu\u{308}cher", "B\u{DC}CHER", "\u{4F8B}\u{3048}", "stra\u{DF}e"] {
      let url = try ResourceURL("https://\(name).example/x")
      #expect(try ResourceURL(url.absoluteString) == url)
    }
  }
}
