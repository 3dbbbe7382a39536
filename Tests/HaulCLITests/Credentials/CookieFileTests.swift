import HaulCLI
import HaulCore
import Testing

/// Cookie files.
@Suite struct CookieFileTests {
  private func sent(_ lines: [String], _ url: String, at wallSeconds: Double = 1000) throws
    -> [String]
  {
    let text = lines.map { $0.replacing(" ", with: "\t") }.joined(separator: "\n")
    return try CookieFile(text).jar.cookies(for: ResourceURL(url), at: wallSeconds).map(\.pair)
  }

  @Test func `a cookie is sent to its host, and to subdomains if the line says so`() throws {
    let cookies = [
      ".example.org TRUE / FALSE 0 wide 1", "example.org FALSE / FALSE 0 narrow 2",
      "www.Example.org FALSE / FALSE 0 www 3", "org.example TRUE / FALSE 0 other 4",
    ]
    #expect(try sent(cookies, "https://example.org/") == ["wide=1", "narrow=2"])
    #expect(try sent(cookies, "https://WWW.example.org/") == ["wide=1", "www=3"])
    #expect(try sent(cookies, "https://a.b.example.org/") == ["wide=1"])
    #expect(try sent(cookies, "https://notexample.org/") == [])
    #expect(try sent(cookies, "https://example.org.evil.test/") == [])
  }

  @Test func `an IP address has no subdomains`() throws {
    let cookies = ["0.0.1 TRUE / FALSE 0 a 1", "127.0.0.1 TRUE / FALSE 0 b 2"]
    #expect(try sent(cookies, "http://127.0.0.1/") == ["b=2"])
    #expect(try sent(["::1 FALSE / FALSE 0 a 1"], "http://[::1]/") == ["a=1"])
  }

  @Test func `a cookie is sent to its path and the paths below, longer paths first`() throws {
    let cookies = [
      "h FALSE / FALSE 0 root 1", "h FALSE /a FALSE 0 a 2", "h FALSE /a/b/ FALSE 0 b 3",
    ]
    #expect(try sent(cookies, "http://h") == ["root=1"])
    #expect(try sent(cookies, "http://h/a") == ["a=2", "root=1"])
    #expect(try sent(cookies, "http://h/ab") == ["root=1"])
    #expect(try sent(cookies, "http://h/a/b") == ["a=2", "root=1"])
    #expect(try sent(cookies, "http://h/a/b/c?d") == ["b=3", "a=2", "root=1"])
  }

  @Test func `a secure cookie is sent over https only, an expired one never`() throws {
    let cookies = [
      "h FALSE / TRUE 0 s 1", "h FALSE / FALSE 1000 old 2", "h FALSE / FALSE 1001.5 n 3",
    ]
    #expect(try sent(cookies, "http://h/") == ["n=3"])
    #expect(try sent(cookies, "https://h/") == ["s=1", "n=3"])
    #expect(try sent(cookies, "https://h/", at: 2000) == ["s=1"])
  }

  @Test
  func `a later line replaces the one of the same name, domain and path, in its place`() throws {
    let cookies = [
      "h FALSE / FALSE 0 sid old", "h FALSE / FALSE 0 b 2", ".h TRUE / FALSE 0 sid new",
      "h FALSE /a FALSE 0 sid below", "i FALSE / FALSE 0 sid other",
    ]
    #expect(try sent(cookies, "http://h/") == ["sid=new", "b=2"])
    #expect(try sent(cookies, "http://h/a") == ["sid=below", "sid=new", "b=2"])
    #expect(try sent(cookies + ["h FALSE / FALSE 1 sid x"], "http://h/") == ["b=2"])
  }

  @Test
  func `#HttpOnly_ lines are cookies, other # lines comments; empty values and spaces are kept`()
    throws
  {
    let text = """
      # Netscape HTTP Cookie File\r
      \r
      #HttpOnly_h\tFALSE\t/\tFALSE\t0\ta\tb c=d \r
      h\tFALSE\t/\tFALSE\t0\tempty\t
      h\tFALSE\t/\tFALSE\t0\tnone
      """
    let cookies = try CookieFile(text).jar.cookies(for: ResourceURL("http://h/"), at: 0)
    #expect(cookies.map(\.pair) == ["a=b c=d ", "empty=", "none="])
  }

  @Test(arguments: [
    "secret", "h FALSE / FALSE 0 n secret more", "h secret / FALSE 0 n v",
    "h FALSE / FALSE secret n v", "h FALSE / FALSE nan n secret",
    "h FALSE / FALSE 0 n secret;x", "h FALSE / FALSE 0 n secret\u{7}",
  ])
  func `an invalid line is refused with its number and without its text`(line: String) {
    do {
      _ = try CookieFile("#\n" + line.replacing(" ", with: "\t"))
      Issue.record("it was read")
    } catch {
      #expect(error.line == 2)
      #expect(!error.message.contains("secret"))
    }
  }

  @Test
  func `a line that is no cookie is left out, beside others; one without a name always`() throws {
    let file = try CookieFile(
      ["h FALSE / FALSE 0  secret", "x", "h FALSE / FALSE 0 a 1"].joined(separator: "\n")
        .replacing(" ", with: "\t"))
    #expect(file.jar.cookies.map(\.pair) == ["a=1"])
    #expect(file.skipped.map(\.line) == [1, 2])
    #expect(file.skipped.allSatisfy { !$0.message.contains("secret") })
    let nameless = try CookieFile("h\tFALSE\t/\tFALSE\t0\t\tsecret")
    #expect(nameless.jar.isEmpty && nameless.skipped.count == 1)
  }
}
