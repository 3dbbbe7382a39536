import HaulCLI
import HaulCore
import Testing

@Suite("The configuration file") struct SettingsTests {
  private static let path = "/home/me/.config/haul/config.toml"

  private func files(_ text: String, _ more: [String: String] = [:]) -> CommandSources {
    sources(more.merging([Self.path: text]) { $1 }, environment: ["HOME": "/home/me"])
  }

  @Test("it sets defaults, of every kind of value")
  func defaults() throws {
    let text = """
      # mine
      directory = "~/Downloads"
      if-exists = 'rename'
      connections = 3
      limit-rate = "2M"
      insecure = true
      json = false
      header = ["X-A: 1", "X-B: 2"]
      "retries" = 0
      """
    let plan = try plan(["https://h/x"], files(text))
    #expect(plan.requests[0].destination == .directory("/home/me/Downloads"))
    #expect(plan.requests[0].ifExists == .rename)
    #expect(plan.requests[0].connections == 3)
    #expect(plan.requests[0].allowInsecure)
    #expect(plan.requests[0].headers.map(\.value) == ["1", "2"])
    #expect(plan.requests[0].retry.retries == 0)
    #expect(plan.limits.rateLimit == 2 << 20)
    #expect(!plan.output.json)
  }

  @Test(
    "the command line wins",
    arguments: [
      ("connections = 3", ["-x", "5"]), ("quiet = true", ["-v"]), ("verbose = true", ["-q"]),
      ("progress = 'bar'", ["-q"]), ("quiet = true", ["--progress", "plain"]),
      ("directory = 'x'", ["-o", "/y"]), ("user = 'u'", ["--bearer-file", "t"]),
      ("bearer-file = 't'", ["--user", "u"]), ("password-file = 'none'", ["--user", "u"]),
      ("netrc = true", ["--bearer-file", "t"]), ("header = 'X: 1'", ["-H", "x: 2"]),
      ("header = 'Authorization: x'", ["--user", "u"]),
      ("header = 'Cookie: x'", ["--cookie", "a=b"]),
      ("user = 'u'", ["-H", "Authorization: x"]), ("cookie = 'a=b'", ["-H", "Cookie: x"]),
    ])
  func wins(text: String, words: [String]) throws {
    var known = files(text, ["t": "token", "none": "other"])
    known.environment["HAUL_PASSWORD"] = "p"
    var bare = known
    bare.environment["HOME"] = nil
    let words = words + ["https://h/x"]
    let (with, without) = (try plan(words, known), try plan(words, bare))
    #expect(with == without)
  }

  @Test(
    "a flag that the file sets is switched off for one run",
    arguments: [
      "allow-unverified", "insecure", "http1.1", "http2", "remote-name", "start-over", "netrc",
      "json", "quiet", "verbose",
    ])
  func switchedOff(key: String) throws {
    let known = files("'\(key)' = true", ["/home/me/.netrc": "machine h login l password p"])
    #expect(try plan(["https://h/x"], known) != plan(["https://h/x"], files("")))
    #expect(try plan(["--no-\(key)", "https://h/x"], known) == plan(["https://h/x"], files("")))
    #expect(
      try plan(["--no-\(key)", "--\(key)", "https://h/x"], known) == plan(["https://h/x"], known))
    let message = refusal(["https://h/x"], files("'no-\(key)' = true"))
    #expect(message?.contains("no-\(key): there is no such option") == true, "\(message ?? "")")
  }

  @Test("what the command line leaves open stays as the file has it")
  func together() throws {
    let known = files("directory = 'd'\nheader = ['A: 1', 'B: 2']\nlimit-rate = 5")
    let plan = try plan(["-o", "f", "-H", "b: 3", "-x", "2", "https://h/x"], known)
    #expect(plan.requests[0].destination == .file("d/f"))
    #expect(plan.requests[0].headers.map(\.value) == ["1", "3"])
    #expect(plan.limits.rateLimit == 5)
  }

  @Test(
    "a wrong file is refused, with the file and the key",
    arguments: [
      ("conections = 3", "conections: "), ("connections = 'x'", "connections: "),
      ("json = 'yes'", "json: "), ("json = 1", "json: "), ("connections = true", "connections: "),
      ("mirror = 'https://m/x'", "mirror: not yet supported"), ("x = 3", "x: "),
      ("connections = [1]", "connections: "),
      ("connections = ['1']", "connections: only one value"),
      ("connections = 1.5", "connections: the value must be"), ("[get]\nconnections = 3", "get: "),
      ("help = true", "help: there is no such option"), ("version = true", "version: there is no"),
      ("generate-completion-script = 'zsh'", "generate-completion-script: there is no"),
      ("'-x' = 3", "-x: there is no"), ("'' = 3", ": there is no"), ("'json=' = 3", "json=: there"),
      ("header = 'no colon'", "header: -H: a header"), ("cookie = 'x'", "cookie: --cookie is"),
      ("checksum = 'md5=0'", "checksum: --checksum: md5 needs"),
      ("directory = ''", "directory: Missing value"),
      ("header = \"A: \\u0000\"", "a NUL"), ("connections = 3\nconnections = 4", "line 2: "),
      ("connections =", "line 1: "),
      // Found by the fuzzer: the parser would end the process.
      ("connections = 3\n[\u{E9}]", "line 2: a table"), (" [[\u{E9}]]", "line 1: a table"),
      ("[\n", "line 1: a table"), ("\u{FEFF}[ = ]", "line 1: a table"),
      ("header = ['A: b', }", "line 1: a table"), ("# {\nproxy = {}", "line 2: a table"),
      ("header = \"\"\"A: \\\"\n{\"\"\"\n}", "line 3: a table"),
    ])
  func refused(text: String, part: String) throws {
    let message = try #require(refusal(["https://h/x"], files(text)))
    #expect(message.hasPrefix("\(Self.path): \(part)"), "\(message)")
    #expect(!message.contains("\n"))
  }

  @Test("an error of the command line does not name the file, and its own does when they meet")
  func blame() throws {
    let known = files("output = 'f'\nconnections = 3")
    let own = try #require(refusal(["-H", "no colon", "https://h/x"], known))
    #expect(own.hasPrefix("-H: "))
    let met = try #require(refusal(["https://h/1", "https://h/2"], known))
    #expect(met.hasPrefix("\(Self.path): output: -o names one file"))
    #expect(refusal([], known) == "give at least one URL, or a file of them with -i")
  }

  @Test("XDG_CONFIG_HOME comes before HOME when it is absolute")
  func place() throws {
    var known = sources(
      ["/x/haul/config.toml": "connections = 2", Self.path: "connections = 3"],
      environment: ["HOME": "/home/me", "XDG_CONFIG_HOME": "/x"])
    #expect(try plan(["https://h/x"], known).requests[0].connections == 2)
    known.environment["XDG_CONFIG_HOME"] = "x"
    #expect(try plan(["https://h/x"], known).requests[0].connections == 3)
    known.environment = [:]
    #expect(try plan(["https://h/x"], known).requests[0].connections == 8)
  }

  @Test("other commands do not read it")
  func otherCommands() throws {
    let words = ["verify", "f", "--checksum", "md5=00112233445566778899aabbccddeeff"]
    guard case .verify = try Invocation(words, from: files("conections = 3")) else {
      Issue.record("not a verify")
      return
    }
  }
}
