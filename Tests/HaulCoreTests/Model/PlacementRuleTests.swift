import HaulCore
import Testing

/// Rules by which files go to directories.
@Suite struct PlacementRuleTests {
  private func matches(_ rule: String, _ address: String) throws -> Bool {
    try #require(PlacementRule("\(rule) -> d")).matches(try ResourceURL(address))
  }

  @Test(arguments: [
    ("*.iso", "https://h/d/x.iso?k=.zip"), ("*.ISO", "https://h/x.iso"),
    ("*.iso", "https://h/X.Iso"),
    ("*.img, *.iso", "https://h/x.iso"), ("example.org/", "https://Example.org:8443/x"),
    ("*.example.org/", "http://a.b.example.org/x"),
    ("example.org/*.zip", "https://example.org/a.zip"),
    ("v?.tar.*", "https://h/v1.tar.gz"), ("*/x*", "https://any/xyz"),
    ("*a*b*c", "https://h/1a2bb3c"),
    ("*.a b", "https://h/x.a%20b"), ("nas:8080/", "http://nas:8080/x"),
    ("h:443/*.zip", "https://h/x.zip"), ("[::1]:8080/", "http://[::1]:8080/x"),
    ("[::1]/", "http://[::1]:8080/x"), ("::1/", "http://[::1]/x"),
  ])
  func `A rule is for names and hosts that match`(rule: String, address: String) throws {
    #expect(try matches(rule, address))
  }

  @Test(arguments: [
    ("*.iso", "https://h/x.iso.zip"), ("*.iso", "https://x.iso/file"),
    ("*.iso", "https://h/a.iso/b"),
    ("example.org/", "https://a.example.org/x"), ("example.org/", "https://example.org.evil/x"),
    ("nas:8080/", "http://nas/x"), ("h:443/", "http://h/x"), ("[::1]:8080/", "http://[::1]/x"),
    ("example.org/*.zip", "https://h/a.zip"), ("v?", "https://h/v"), ("*a*b*c", "https://h/1a2b3"),
  ])
  func `and not for others`(rule: String, address: String) throws {
    #expect(try !matches(rule, address))
  }

  @Test(arguments: [
    "*.iso", "*.iso ->", "-> d", "*.iso -> ../d", "*.iso -> a/../../b", "iso -> d", "a/b/c -> d",
    "/x -> d", "*.iso, -> d", "", "nas:8080 -> d", "nas:x/ -> d", "nas:/ -> d", "nas:0/ -> d",
    "nas:*/ -> d", ":80/ -> d", "[::1]80/ -> d", "[::1/ -> d", "[]/ -> d", "nas:99999/ -> d",
  ])
  func `What is no rule is refused`(_ text: String) { #expect(PlacementRule(text) == nil) }

  @Test func `Many stars take no time that grows with their power`() throws {
    let stars = String(repeating: "*a", count: 100) + "b"
    #expect(try !matches(stars, "https://h/" + String(repeating: "a", count: 200)))
  }
}
