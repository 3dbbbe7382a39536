import HaulCLI
import HaulCore
import Testing

/// The configuration file.
@Suite struct SettingsTests {
  static let path = "/home/me/.config/haul/haul.conf"

  static func files(_ text: String, _ more: [String: String] = [:]) -> CommandSources {
    sources(more.merging([path: text]) { $1 }, environment: ["HOME": "/home/me"])
  }

  private func files(_ text: String, _ more: [String: String] = [:]) -> CommandSources {
    Self.files(text, more)
  }

  @Test func `it sets defaults of every type`() throws {
    let text = """
      # mine
      directory = ~/Downloads

        if-exists=rename
      connections\t= 3
      limit-rate = 2M
      insecure
      json = false
      start-over = true
      header = X-A: 1
      header = X-B: a = #2
      user-agent = true
      retries = 0
      """
    let plan = try plan(["https://h/x"], files(text))
    #expect(plan.requests[0].destination == .directory("/home/me/Downloads"))
    #expect(plan.requests[0].ifExists == .rename)
    #expect(plan.requests[0].connections == 3)
    #expect(plan.requests[0].allowInsecure)
    #expect(plan.requests[0].startOver)
    #expect(plan.requests[0].headers.map(\.value) == ["1", "a = #2"])
    #expect(plan.requests[0].retry.retries == 0)
    #expect(plan.managerOptions.rateLimit == 2 << 20)
    #expect(plan.managerOptions.userAgent == "true")
    #expect(!plan.output.json)
  }

  @Test(arguments: [
    "connections = 3\r\n\r\nquiet\r\n", "\t connections=3 \n quiet", "\n#\nquiet\nconnections=3",
  ])
  func `line ends and spaces do not count, and an empty file is valid`(text: String) throws {
    let found = try plan(["https://h/x"], files(text))
    #expect(found.requests[0].connections == 3)
    #expect(found.output.quiet)
    #expect(try plan(["https://h/x"], files("# = \n")) == plan(["https://h/x"], files("")))
  }

  @Test func `repeatable options may be on several lines`() throws {
    let digits = String(repeating: "0", count: 128)
    let text = """
      header = A: 1
      checksum = md5=\(digits.prefix(32))
      checksum = sha-1=\(digits.prefix(40))
      cookie = a=b
      header = A: 2
      cookie = c=d
      resolve = h:192.0.2.1
      resolve = i:192.0.2.1
      trust-redirects = a
      trust-redirects = b
      cookie-file = 1
      cookie-file = 2
      """
    let cookies = ["1": "h\tFALSE\t/\tFALSE\t0\te\tf", "2": "h\tFALSE\t/\tFALSE\t0\tg\th"]
    let plan = try plan(["https://h/x"], files(text, cookies))
    let request = plan.requests[0]
    #expect(request.headers.map(\.value).prefix(2) == ["1", "2"])
    #expect(request.header("Cookie") == "a=b; c=d; e=f; g=h")
    #expect(request.checksums.count == 2)
    #expect(request.trustedRedirectHosts == ["a", "b"])
    #expect(plan.managerOptions.addresses.count == 2)
  }

  @Test(arguments: [
    ("connections = 3", ["-x", "5"]), ("quiet", ["-v"]), ("verbose", ["-q"]),
    ("progress = bar", ["-q"]), ("quiet = true", ["--progress", "plain"]),
    ("directory = x", ["-o", "/y"]), ("directory = x\njson", ["-o", "-"]),
    ("user = u", ["--bearer-file", "t"]),
    ("bearer-file = t", ["--user", "u"]), ("password-file = none", ["--user", "u"]),
    ("netrc", ["--bearer-file", "t"]), ("header = X: 1", ["-H", "x: 2"]),
    ("header = Authorization: x", ["--user", "u"]), ("http2", ["--http1.1"]),
    ("http1.1", ["--http2"]), ("header = Cookie: x", ["--cookie", "a=b"]),
    ("user = u", ["-H", "Authorization: x"]), ("cookie = a=b", ["-H", "Cookie: x"]),
  ])
  func `the command line overrides the file`(text: String, arguments: [String]) throws {
    var known = files(text, ["t": "token", "none": "other"])
    known.environment["HAUL_PASSWORD"] = "p"
    var bare = known
    bare.environment["HOME"] = nil
    let arguments = arguments + ["https://h/x"]
    let (with, without) = (try plan(arguments, known), try plan(arguments, bare))
    #expect(with == without)
  }

  @Test(arguments: [
    "allow-unverified", "insecure", "http1.1", "http2", "remote-name", "start-over", "netrc",
    "json", "quiet", "verbose",
  ])
  func `a flag in the file can be switched off for one run`(key: String) throws {
    let netrc = ["/home/me/.netrc": "machine h login l password p"]
    let none = try plan(["https://h/x"], files(""))
    for text in [key, "\(key) = true"] {
      let known = files(text, netrc)
      #expect(try plan(["https://h/x"], known) != none)
      #expect(try plan(["--no-\(key)", "https://h/x"], known) == none)
      #expect(
        try plan(["--no-\(key)", "--\(key)", "https://h/x"], known) == plan(["https://h/x"], known))
    }
    #expect(try plan(["https://h/x"], files("\(key)=false")) == none)
  }

  @Test func `settings stay as in the file unless the command line changes them`() throws {
    let known = files("directory = d\nheader = A: 1\nheader = B: 2\nlimit-rate = 5")
    let plan = try plan(["-H", "b: 3", "-x", "2", "https://h/x"], known)
    #expect(plan.requests[0].destination == .directory("d"))
    #expect(plan.requests[0].headers.map(\.value) == ["1", "3"])
    #expect(plan.managerOptions.rateLimit == 5)
  }

  @Test func `XDG_CONFIG_HOME comes before HOME if it is absolute`() throws {
    var known = sources(
      ["/x/haul/haul.conf": "connections = 2", Self.path: "connections = 3"],
      environment: ["HOME": "/home/me", "XDG_CONFIG_HOME": "/x"])
    #expect(try plan(["https://h/x"], known).requests[0].connections == 2)
    known.environment["XDG_CONFIG_HOME"] = "x"
    #expect(try plan(["https://h/x"], known).requests[0].connections == 3)
    known.environment = [:]
    #expect(try plan(["https://h/x"], known).requests[0].connections == 8)
  }

  @Test
  func `a file with the former name is refused, unless there is one with the new name`() throws {
    let old = "/home/me/.config/haul/config.toml"
    var known = sources([old: "connections = 3"], environment: ["HOME": "/home/me"])
    let message = try #require(refusal(["https://h/x"], known))
    #expect(message.hasPrefix("\(old): haul reads haul.conf now; rename the file"))
    known = files("connections = 2", [old: "connections = 3"])
    #expect(try plan(["https://h/x"], known).requests[0].connections == 2)
  }
}
