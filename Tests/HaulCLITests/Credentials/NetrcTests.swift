import HaulCLI
import HaulCore
import Testing

/// Files in the form of `.netrc`.
@Suite struct NetrcTests {
  private func found(_ text: String, _ host: String, user: String? = nil) throws -> String? {
    try Netrc(text).credentials(host: host, user: user).map { "\($0.user) \($0.password)" }
  }

  @Test(arguments: [
    "machine h login u password p", "machine h\n\tlogin u\n\tpassword p\n",
    "machine h\r\nlogin u\r\npassword p\r\n", "machine H account a password p login u",
    "machine other login x password y\nmachine h login u password p",
    "# machine h login x password y\nmachine h # mine\n login u password p",
    "machine \"h\" login \"u\" password \"p\"", "machine h login u passwd p",
    "macdef init\nmachine h login x\npassword y\n\nmachine h login u password p",
    "machine o\nmacdef init\nx\r\n\r\nmachine h login u password p",
    "default login x password y\nmachine h login u password p",
  ])
  func `the entry of the host is found, in any layout`(text: String) throws {
    #expect(try found(text, "h") == "u p")
    #expect(try found(text, "H") == "u p")
  }

  @Test
  func `quotes may contain spaces and escapes; # begins a comment only in place of a keyword`()
    throws
  {
    let text = #"machine h login "a \"b\" \\c" password "x\ny\tz #""#
    #expect(try found(text, "h") == "a \"b\" \\c x\ny\tz #")
    #expect(try found("machine h login #u password #p", "h") == "#u #p")
    #expect(try found("machine h login u password machine", "h") == "u machine")
  }

  @Test func `default is for hosts without an entry`() throws {
    let text = "machine h login u password p\ndefault login d password e"
    #expect(try found(text, "other") == "d e")
    #expect(try found(text, "h") == "u p")
    #expect(try found("machine h login u password p", "sub.h") == nil)
    #expect(try found("", "h") == nil)
  }

  @Test func `the first of several entries counts, or the first of the requested user`() throws {
    let text = "machine h login a password 1\nmachine h login b password 2 machine h login a"
    #expect(try found(text, "h") == "a 1")
    #expect(try found(text, "h", user: "b") == "b 2")
    #expect(try found(text, "h", user: "c") == nil)
    #expect(try found("machine h password p", "h", user: "c") == "c p")
  }

  @Test func `a name or a password alone is sent with nothing for the other, as by curl`() throws {
    #expect(try found("machine h login key", "h") == "key ")
    #expect(try found("machine h password p", "h") == " p")
    #expect(try found("machine h login a machine h login b password 2", "h") == "b 2")
    #expect(try found("machine h account x", "h") == nil)
    // The password of --user may come from the terminal.
    #expect(try found("machine h login u", "h", user: "u") == nil)
    #expect(try Netrc("machine h login key").logins["h"]?.user == "key")
  }

  @Test(arguments: [
    "machine o login x password y protocol https\nmachine h login u password p",
    "machine h protocol https login u port 443 password p", "machine h x y login u password p",
  ])
  func `words of other programs are skipped with their values`(text: String) throws {
    #expect(try found(text, "h") == "u p")
  }

  @Test(arguments: [
    ("version 1\nmachine h login u password p", 1), ("\nfoo machine h login u password p", 2),
    ("macdef m\nx\n\nfoo\nbar\nmachine h login u password p", 4),
    ("foo default login u password p", 1),
  ])
  func `words of other programs before the first entry are left out`(text: String, line: Int) throws
  {
    #expect(try found(text, "h") == "u p")
    #expect(try Netrc(text).skipped?.line == line)
  }

  @Test func `an entry that cannot be used is refused for its own host, without its text`() throws {
    for (text, line) in [
      ("machine o login u\npassword my secret\nmachine h login u password p", 2),
      ("machine o login u password secret\0\nmachine h login u password p", 1),
    ] {
      #expect(try found(text, "h") == "u p")
      #expect(try Netrc(text).logins.keys.sorted() == ["h"])
      do {
        _ = try Netrc(text).credentials(host: "o")
        Issue.record("it was used")
      } catch {
        #expect(error.line == line && !error.message.contains("secret"))
      }
    }
  }

  @Test(arguments: [
    ("machine", 1), ("machine h login u\npassword ", 2),
    ("login secret password p", 1), ("machine h\n\npassword \"secret", 3), ("{\"secret\": 1}", 1),
    ("foo\nlogin secret password p", 2), ("foo secret", 1),
  ])
  func `an invalid file is refused with the line number and without its text`(
    text: String, line: Int
  ) {
    do {
      _ = try Netrc(text)
      Issue.record("it was read")
    } catch {
      #expect(error.line == line)
      #expect(!error.message.contains("secret"))
    }
  }
}
