import HaulCLI
import HaulCore
import Testing

/// Errors in the configuration file.
@Suite struct WrongSettingsTests {
  private func files(_ text: String) -> CommandSources { SettingsTests.files(text) }

  @Test(arguments: [
    ("conections = 3", "line 1: unknown option conections; did you mean connections?"),
    ("\n# x\r\n  x = 3", "line 3: unknown option x"),
    ("colour", "line 1: unknown option colour"),
    ("connections = x", "line 1: connections: write a number from 1 to 256"),
    ("connections = true", "line 1: connections: write a number from 1 to 256"),
    ("connections = 3 # three", "line 1: connections: write a number"),
    ("if-exists = ask", "line 1: if-exists: write one of update, "),
    ("progress = x", "line 1: progress: write one of auto, bar, plain, none"),
    ("json = yes", "line 1: json: write true or false"),
    ("json = 1", "line 1: json: write true or false"),
    ("json =", "line 1: json: a value is missing"),
    ("no-json", "line 1: no-json: write json = false"),
    ("directory", "line 1: directory: a value is missing"),
    ("directory =", "line 1: directory: a value is missing"),
    ("mirror = https://m/x", "line 1: mirror is not yet supported"),
    (
      "quiet\nconnections = 3\nconnections = 4",
      "line 3: connections is given twice, first on line 2"
    ),
    ("json\njson = false", "line 2: json is given twice, first on line 1"),
    ("header = no colon", "line 1: header: -H: a header"),
    ("cookie = x", "line 1: cookie: --cookie is"),
    ("checksum = md5=0", "line 1: checksum: md5 needs"),
    ("directory = \"~/x\"", "line 1: directory: write the value without quotes"),
    ("directory = 'x'", "line 1: directory: write the value without quotes"),
    ("header = [\"A: b\", \"C: d\"]", "line 1: header: -H: the header's name"),
    ("header = A: \0", "line 1: the line contains a NUL or a carriage return"),
    ("quiet\rjson", "line 1: the line contains a NUL or a carriage return"),
  ])
  func `are reported with the file and the line, and nothing starts`(text: String, part: String)
    throws
  {
    for arguments in [["get", "https://h/x"], ["probe", "https://h/x"]] {
      // Only `get` accepts a digest.
      if arguments[0] == "probe", text.hasPrefix("checksum") { continue }
      let message = try #require(refusal(arguments, of: files(text)))
      #expect(message.hasPrefix("\(SettingsTests.path): \(part)"), "\(message)")
      #expect(!message.contains("\n"))
    }
  }

  @Test(arguments: [
    "--connections 3", "-x = 3", "connections 3", "= 3", "Connections = 3", "'json' = 1",
    "\u{FEFF}json", "{", "}", "\u{301}json", "Authorization: Basic c2VjcmV0=",
    "00112233445566778899aabbccddeeff",
  ])
  func `an invalid name is not repeated`(text: String) throws {
    let message = try #require(refusal(["https://h/x"], files(text)))
    #expect(message == "\(SettingsTests.path): line 1: \(Self.form)")
  }

  private static let form =
    "write a line like limit-rate = 20M: the long name of an option, without its dashes"

  @Test(arguments: [
    "output = x", "output = -", "input-file = list", "input-file", "help", "version = true",
    "generate-completion-script = zsh",
  ])
  func `options about one run are for the command line only`(text: String) throws {
    let message = try #require(refusal(["https://h/x"], files(text)))
    let key = text.prefix { $0 != " " }
    let isLong = key.count > 24
    let reason = isLong ? Self.form : "\(key) is for the command line only"
    #expect(message == "\(SettingsTests.path): line 1: \(reason)")
  }

  @Test func `an address is for the command line only, and stays secret`() throws {
    for text in ["https://u:secret@h/?token=secret", "https://u:secret@h/"] {
      let message = try #require(refusal(["https://h/x"], files("json\n" + text)))
      #expect(message.hasPrefix("\(SettingsTests.path): line 2: an address is for"))
      #expect(!message.contains("secret"))
    }
    let url = try #require(refusal(["https://h/x"], files("url = https://u:secret@h/")))
    #expect(url == "\(SettingsTests.path): line 1: unknown option url")
  }

  @Test(arguments: [
    "header = secret", "header = Host: secret", "header = A: secret\u{7}", "cookie = secret",
    "cookie = a=secret\u{7}", "proxy = http://u:secret@", "proxy = ftp://u:secret@h",
    "user = u:secret", "netrc = secret", "authorisation = secret", "haeder = A: secret",
    "retries = secret", "json = secret", "resolve = secret", "user-agent = secret\u{7}",
    "progress = secret", "Header = secret", "header: Authorization: secret", "secret = \"secret",
    "limit-rate = '--secret--", "limit-rate = \u{301}secret\u{2028}x",
  ])
  func `no message repeats a value`(text: String) throws {
    let message = try #require(refusal(["https://h/x"], files(text)))
    #expect(message.hasPrefix("\(SettingsTests.path): line 1: "))
    let shown = text.hasPrefix("secret") ? message.replacing("option secret", with: "") : message
    #expect(!shown.contains("secret"), "\(message)")
  }

  @Test
  func `an error of the command line does not name the file; an error of both names it`() throws {
    let known = files("connections = 3\nchecksum = md5=\(String(repeating: "0", count: 32))")
    let own = try #require(refusal(["-H", "no colon", "https://h/x"], known))
    #expect(own.hasPrefix("-H: "))
    let met = try #require(refusal(["https://h/1", "https://h/2"], known))
    #expect(
      met.hasPrefix("\(SettingsTests.path): line 2: checksum: --checksum is the digest of one"))
    #expect(refusal([], known) == "give at least one URL, or a file of them with -i")
  }

  @Test func `a very long line is accepted`() throws {
    let name = String(repeating: "x", count: 1 << 18)
    let known = try plan(["https://h/x"], files("header = A: \(name)\nquiet"))
    #expect(known.requests[0].headers.map(\.value) == [name])
    #expect(refusal(["https://h/x"], files(name))?.utf8.count ?? 0 < 200)
  }
}
