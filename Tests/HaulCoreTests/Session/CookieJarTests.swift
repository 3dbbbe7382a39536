import HaulCore
import Testing

@Suite struct CookieJarTests {
  private let suffixes = PublicSuffixList("// list\ncom\nco.uk\ngithub.io\n*.ck\n!www.ck\n")

  /// What the jar sends to an address after these answers.
  private func sent(
    to url: String, _ answers: [(String, [String])], given: String? = nil, at now: Double = 1000,
    knowsSuffixes: Bool = true
  ) throws -> String? {
    var jar = CookieJar()
    for (from, fields) in answers {
      jar.store(
        HeaderFields(fields.map { ("Set-Cookie", $0) }), from: try ResourceURL(from), at: 1000
      ) { knowsSuffixes ? suffixes.isSuffix($0) : nil }
    }
    return jar.field(for: try ResourceURL(url), at: now, given: given)
  }

  @Test(
    arguments: [
      ("http://h.com/", "a=1", "http://h.com/x", "a=1"),
      ("http://h.com/", "a=1", "http://i.com/", nil),
      ("http://h.com/", "a=1", "http://www.h.com/", nil),
      ("http://h.com/", "a=1", "http://h.com:8080/", "a=1"),
      ("http://h.com/d/f", "a=1", "http://h.com/d/g", "a=1"),
      ("http://h.com/d/f", "a=1", "http://h.com/e", nil),
      ("http://h.com/d/f", "a=1; Path=/", "http://h.com/e", "a=1"),
      ("http://h.com/", "a=1; path=/d", "http://h.com/d/", "a=1"),
      ("http://h.com/", "a=1; path=/d", "http://h.com/de", nil),
      ("http://h.com/", "a=1; Path=relative", "http://h.com/x", "a=1"),
      ("https://h.com/", "a=1; Secure", "https://h.com/", "a=1"),
      ("https://h.com/", "a=1; Secure", "http://h.com/", nil),
      ("http://h.com/", "a=1; Secure", "https://h.com/", nil),
      ("http://localhost:8080/", "a=1; Secure", "http://localhost:8080/", "a=1"),
      ("http://127.8.0.1/", "a=1; Secure", "http://127.8.0.1/", "a=1"),
      ("http://[::1]/", "__Host-a=1; Secure; Path=/", "http://[::1]/", "__Host-a=1"),
      ("http://a.localhost:8080/", "a=1; Secure", "http://a.localhost:8080/", "a=1"),
      ("http://localhost.h.com/", "a=1; Secure", "http://localhost.h.com/", nil),
      ("http://128.0.0.1/", "a=1; Secure", "http://128.0.0.1/", nil),
      ("http://h.com/", " a = b c ; HttpOnly", "http://h.com/", "a=b c"),
      ("http://h.com/", "a=\"q;r\"", "http://h.com/", "a=\"q"),
      ("http://h.com/", "a", "http://h.com/", nil),
      ("http://h.com/", "=a", "http://h.com/", nil), ("http://h.com/", "a=", "http://h.com/", "a="),
      ("http://h.com/", "a=b\u{1}", "http://h.com/", nil),
      ("http://h.com/", "a=é", "http://h.com/", "a=é"),
    ] as [(String, String, String, String?)])
  func `A cookie is sent to its host, path and scheme only`(
    from: String, set: String, to: String, wanted: String?
  ) throws {
    #expect(try sent(to: to, [(from, [set])]) == wanted)
  }

  @Test(arguments: [
    ("a.h.com", "h.com", "h.com", true), ("a.h.com", ".H.com", "b.h.com", true),
    ("a.h.com", "a.h.com", "b.a.h.com", true), ("a.h.com", "a.h.com", "h.com", false),
    ("a.h.com", "b.h.com", "b.h.com", false), ("a.h.com", "com", "a.h.com", false),
    ("a.h.co.uk", "co.uk", "b.co.uk", false),
    ("me.github.io", "github.io", "you.github.io", false),
    ("github.io", "github.io", "github.io", true),
    ("github.io", "github.io", "you.github.io", false),
    ("a.b.ck", "b.ck", "c.b.ck", false), ("www.ck", "www.ck", "a.www.ck", true),
    ("a.h.com", "", "a.h.com", true), ("ah.com", "h.com", "h.com", false),
    ("127.0.0.1", "127.0.0.1", "127.0.0.1", true), ("127.0.0.1", "0.0.1", "127.0.0.1", false),
    ("localhost", "localhost", "localhost", true),
    ("localhost", "localhost", "a.localhost", false),
  ])
  func `Domain counts for the host itself; for others only below a name that is no public suffix`(
    host: String, domain: String, to: String, isSent: Bool
  ) throws {
    let field = try sent(to: "http://\(to)/", [("http://\(host)/", ["a=1; Domain=\(domain)"])])
    #expect((field != nil) == isSent)
  }

  @Test func `Without a list of public suffixes, a cookie is for its own host`() throws {
    let answers = [("http://a.h.com/", ["a=1; Domain=h.com"])]
    #expect(try sent(to: "http://a.h.com/", answers, knowsSuffixes: false) == "a=1")
    #expect(try sent(to: "http://b.h.com/", answers, knowsSuffixes: false) == nil)
    #expect(try sent(to: "http://h.com/", answers, knowsSuffixes: false) == nil)
    // An international name is in the list in another form.
    #expect(suffixes.isSuffix("xn--55qx5d.cn") == nil)
  }

  @Test(
    arguments: [
      ("Max-Age=10", 1009, true), ("Max-Age=10", 1010, false), ("Max-Age=0", 1000, false),
      ("Max-Age=-5", 1000, false), ("Max-Age=x", 9e9, true),
      ("Expires=Thu, 01-Jan-1970 00:00:00 GMT", 1000, false),
      ("Expires=Wed, 09-Jun-2027 10:18:14 GMT", 1_812_536_293, true),
      ("Expires=Wed, 09-Jun-2027 10:18:14 GMT", 1_812_536_294, false),
      ("Expires=Thu, 01-Jan-1970 00:00:00 GMT; Max-Age=100", 1050, true),
      ("Max-Age=99999999999999999999999", 9e9, true), ("Expires=soon", 9e9, true),
    ] as [(String, Double, Bool)])
  func `A cookie lasts until it expires, and Max-Age precedes Expires`(
    attribute: String, now: Double, isSent: Bool
  ) throws {
    let field = try sent(to: "http://h.com/", [("http://h.com/", ["a=1; \(attribute)"])], at: now)
    #expect((field != nil) == isSent)
  }

  @Test(
    arguments: [
      ("Wed, 09 Jun 2021 10:18:14 GMT", 1_623_233_894),
      ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
      ("Sun Nov  6 08:49:37 1994", 784_111_777), ("8:49:37 6 nov 1994", 784_111_777),
      ("06 Nov 69 08:49:37", 3_150_953_377), ("32 Nov 1994 08:49:37", nil), ("6 Nov 1994", nil),
      ("6 Nov 1994 24:00:00", nil), ("6 Nov 1600 08:49:37", nil), ("", nil),
    ] as [(String, Double?)])
  func `Dates of all forms are read`(text: String, seconds: Double?) {
    #expect(CookieDate.seconds(of: text) == seconds)
  }

  @Test(arguments: [
    ("https://h.com/", "__Host-a=1; Secure; Path=/", true),
    ("https://h.com/", "__host-a=1; Secure; Path=/; Domain=h.com", false),
    ("https://h.com/", "__Host-a=1; Secure", false),
    ("https://h.com/", "__Host-a=1; Path=/", false),
    ("http://h.com/", "__Host-a=1; Secure; Path=/", false),
    ("https://h.com/", "__Secure-a=1; Secure", true), ("https://h.com/", "__Secure-a=1", false),
  ])
  func `A name that promises more than it keeps is refused`(url: String, set: String, isSent: Bool)
    throws
  {
    #expect((try sent(to: url, [(url, [set])]) != nil) == isSent)
  }

  @Test func `A server replaces and deletes cookies, also those that the user gave`() throws {
    let url = "http://h.com/"
    #expect(try sent(to: url, [(url, ["a=1"]), (url, ["b=2", "a=3"])]) == "a=3; b=2")
    #expect(try sent(to: url, [(url, ["a=1"]), (url, ["a=; Max-Age=0"])]) == nil)
    #expect(try sent(to: url, [(url, ["a=3"])], given: "a=1; b=2") == "b=2; a=3")
    #expect(try sent(to: url, [(url, ["a=; Max-Age=0"])], given: "a=1; b=2") == "b=2")
    #expect(try sent(to: url, [], given: "a=1") == "a=1")
    #expect(try sent(to: "http://i.com/", [(url, ["a=3"])], given: "a=1") == "a=1")
  }

  @Test func `Plain http does not replace a cookie of https`() throws {
    let answers = [("https://h.com/", ["a=1; Secure"]), ("http://h.com/", ["a=2"])]
    #expect(try sent(to: "https://h.com/", answers) == "a=1")
  }

  @Test func `Longer paths come first, then the older`() throws {
    let fields = ["a=1; Path=/", "b=2; Path=/d/e", "c=3; Path=/d", "d=4; Path=/d"]
    #expect(
      try sent(to: "http://h.com/d/e/f", [("http://h.com/d/e/f", fields)]) == "b=2; c=3; d=4; a=1")
  }

  @Test func `The number and the size of what a server sets are limited`() throws {
    let url = try ResourceURL("http://h.com/")
    var jar = CookieJar()
    let many = (0..<200).map { ("Set-Cookie", "c\($0)=1") }
    jar.store(HeaderFields(many), from: url, at: 0) { _ in nil }
    #expect(jar.cookies(for: url, at: 0).map(\.name) == (140..<200).map { "c\($0)" })
    for host in 0..<100 {
      jar.store(HeaderFields(many), from: try ResourceURL("http://h\(host).com/"), at: 0) { _ in nil
      }
    }
    #expect(jar.cookies.count <= 660)
    let long = String(repeating: "x", count: 4000)
    let large =
      (0..<10).map { ("Set-Cookie", "c\($0)=\(long)") } + [("Set-Cookie", "d=\(long)\(long)")]
    var full = CookieJar()
    full.store(HeaderFields(large), from: url, at: 0) { _ in nil }
    #expect(full.cookies.count == 10)
    #expect(try #require(full.field(for: url, at: 0)).utf8.count <= 8190)
  }

  @Test func `The bytes of what servers set are limited, and counted`() throws {
    let long = String(repeating: "x", count: 4000)
    let many = HeaderFields((0..<18).map { ("Set-Cookie", "c\($0)=\(long); Path=/") })
    var jar = CookieJar()
    for host in 0..<20 {
      jar.store(many, from: try ResourceURL("http://h\(host).com/"), at: 0) { _ in nil }
    }
    #expect((300_000...(320 << 10)).contains(jar.receivedBytes))
    #expect(jar.cookies.reduce(0) { $0 + $1.value.utf8.count } <= jar.receivedBytes)
    // Every cookie of the first host is deleted and set again: they are counted once.
    let url = try ResourceURL("http://h0.com/")
    let before = jar.receivedBytes
    let none = HeaderFields((0..<18).map { ("Set-Cookie", "c\($0)=; Path=/; Max-Age=0") })
    jar.store(none, from: url, at: 0) { _ in nil }
    #expect(jar.receivedBytes == before - 18 * long.utf8.count)
    jar.store(many, from: url, at: 0) { _ in nil }
    #expect(jar.receivedBytes == before)
    #expect(jar.cookies(for: url, at: 0).count == 18)
  }
}
