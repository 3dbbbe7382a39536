import Foundation
import HaulCLI
import HaulCore
import NIOConcurrencyHelpers
import Testing

private func basic(_ pair: String) -> String { "Basic " + Data(pair.utf8).base64EncodedString() }

/// Options for credentials.
@Suite struct CredentialOptionTests {
  private func authorization(
    _ arguments: [String], url: String = "https://h/x", _ sources: CommandSources
  ) throws -> String? {
    try plan(arguments + [url], sources).requests[0].header("Authorization")
  }

  @Test
  func `the password comes from its file, environment, netrc file or user, in this order`() throws {
    var files = ["p": "from file\nnot this", "/n": "machine h login me password listed"]
    var environment = ["HAUL_PASSWORD": "variable", "NETRC": "/n"]
    let arguments = ["--user", "me"]
    func value(_ arguments: [String]) throws -> String? {
      try authorization(arguments, sources(files, environment: environment, password: "asked"))
    }
    #expect(try value(arguments + ["--password-file", "p"]) == basic("me:from file"))
    #expect(try value(arguments) == basic("me:variable"))
    environment["HAUL_PASSWORD"] = nil
    #expect(try value(arguments) == basic("me:listed"))
    #expect(try value(["--user", "you"]) == basic("you:asked"))
    files["/n"] = nil
    #expect(try value(arguments) == basic("me:asked"))
  }

  @Test func `without a password and without a terminal, nothing starts`() throws {
    let message = try #require(refusal(["--user", "me", "https://h/x"], sources()))
    #expect(message.contains("HAUL_PASSWORD"))
    #expect(refusal(["--user", "me", "https://h/x"], SettingsTests.files("quiet")) == message)
    let named = try #require(refusal(["https://h/x"], SettingsTests.files("quiet\nuser = me")))
    #expect(named.hasPrefix("\(SettingsTests.path): line 2: user: "), "\(named)")
  }

  @Test func `a password is requested once, however many addresses there are`() throws {
    let count = NIOLockedValueBox(0)
    let sources = CommandSources(askPassword: { (user) throws(UsageError) in
      let number = count.withLockedValue { count in
        count += 1
        return count
      }
      return "\(user)\(number)"
    })
    let requests = try plan(["--user", "u", "https://a/x", "https://b/x"], sources).requests
    #expect(requests.map { $0.header("Authorization") } == [basic("u:u1"), basic("u:u1")])
  }

  @Test
  func `netrc is matched by the host of each address; credentials in an address come first`() throws
  {
    let text =
      "machine a login u password 1\nmachine b login v password 2\nmachine b login w password 3"
    let files = sources(["/home/me/.netrc": text], environment: ["HOME": "/home/me"])
    let arguments = ["--netrc", "https://a/1", "http://b:8080/2", "https://c/3", "https://w@b/4"]
    let requests = try plan(arguments + ["https://own:pw@a/5"], files).requests
    #expect(
      requests.map { $0.header("Authorization") } == [
        basic("u:1"), basic("v:2"), nil, basic("w:3"), nil,
      ])
    #expect(requests[4].url.credentials?.password == "pw")
    #expect(try authorization([], url: "https://a/1", files) == nil)
  }

  @Test func `a bearer token is the first line of its file`() throws {
    let files = sources(["t": "abc.def~\r\n", "bad": "two words\n", "none": "\n"])
    #expect(try authorization(["--bearer-file", "t"], files) == "Bearer abc.def~")
    for name in ["bad", "none"] {
      let message = try #require(refusal(["--bearer-file", name, "https://h/x"], files))
      #expect(message.contains("not a token") && !message.contains("two words"))
    }
  }

  @Test func `all cookies are sent in one field`() throws {
    let jar = "a\tFALSE\t/\tFALSE\t0\tin\tfile\nb\tFALSE\t/\tFALSE\t50\told\t1\n"
    let files = sources(["jar": jar], wallSeconds: 100)
    let arguments = ["--cookie", "x=1; y=2", "--cookie=z=", "--cookie-file", "jar"]
    let requests = try plan(arguments + ["https://a/", "https://b/"], files).requests
    #expect(requests.map { $0.header("Cookie") } == ["x=1; y=2; z=; in=file", "x=1; y=2; z="])
    let only = try plan(["--cookie-file", "jar", "https://b/"], files).requests
    #expect(only[0].headers.isEmpty)
  }

  @Test func `of several files, the later one replaces a cookie`() throws {
    let line = "a\tFALSE\t/\tFALSE\t0\tid\t"
    let files = sources(["x": line + "old", "y": line + "new"])
    let both = try plan(["--cookie-file", "x", "--cookie-file", "y", "https://a/"], files)
    #expect(both.requests[0].header("Cookie") == "id=new")
  }

  @Test
  func `a cookie that is not text is refused where it is needed, and ignored elsewhere`() throws {
    let jar = "a\tFALSE\t/\tFALSE\t0\tcity\tK\0ln\nb\tFALSE\t/\tFALSE\t0\tid\tv\n"
    let files = sources(["jar": jar])
    let message = try #require(refusal(["--cookie-file", "jar", "https://a/"], files))
    #expect(message.contains("https://a/: a cookie of --cookie-file for this host"))
    let other = try plan(["--cookie-file", "jar", "https://b/"], files)
    #expect(other.requests[0].header("Cookie") == "id=v")
    #expect(other.managerOptions.session?.cookies.cookies.map(\.pair) == ["id=v"])
  }

  @Test(arguments: [
    (["--user", "u", "--bearer-file", "f"], "--bearer-file contradict"),
    (["--user", "u", "-H", "authorization: x"], "Authorization contradict"),
    (["--bearer-file", "f", "-H", "Authorization: x"], "Authorization contradict"),
    (["--netrc", "--bearer-file", "f"], "--netrc contradict"),
    (["--netrc", "-H", "Authorization: x"], "--netrc contradict"),
    (["--cookie", "a=b", "-H", "Cookie: x"], "-H Cookie"),
    (["--cookie-file", "f", "-H", "cookie: x"], "-H Cookie"),
    (["--password-file", "f"], "needs --user"), (["--user", "u:secret"], "without ':'"),
    (["--user", ""], "empty"), (["--cookie", "secret"], "name=value"),
    (["--cookie", "=x"], "name="),
    (["--cookie", "a=secret\r\nX: y"], "line break"),
    (["--cookie-file", "none"], "no such file"),
    (["--netrc"], "NETRC"), (["--bearer-file", "none"], "no such file"),
    (["--user", "u", "--password-file", "none"], "no such file"),
    (["--user", "u", "https://me:secret@h/y"], "the address has a user name"),
    (["--bearer-file", "f", "https://me:secret@h/y"], "the address has a user name"),
  ])
  func `contradicting or useless options are refused`(arguments: [String], part: String) throws {
    let files = sources(["f": "token"], environment: [:], password: "secret")
    let message = try #require(refusal(arguments + ["https://h/x"], files))
    #expect(message.contains(part), "\(message)")
    #expect(!message.contains("secret") && !message.contains("token\n"))
  }

  @Test
  func `hosts that a server names get their own entry of the netrc file, if that was asked for`()
    throws
  {
    let text =
      "machine a login u password 1\nmachine b login v password 2\ndefault login w password 3"
    let jar = "b\tFALSE\t/\tFALSE\t0\tin\tfile\nx\n"
    let files = sources(["/n": text, "jar": jar], environment: ["NETRC": "/n"])
    let whole = try plan(["--netrc", "--cookie-file", "jar", "https://a/"], files)
    let session = try #require(whole.managerOptions.session)
    #expect(session.logins.mapValues(\.password) == ["a": "1", "b": "2"])
    #expect(session.cookies.cookies.map(\.pair) == ["in=file"])
    #expect(whole.notes.count == 1 && whole.notes[0].contains("jar: line 2 was left out"))
    #expect(try plan(["--user", "u", "https://a/"], files).managerOptions.session == nil)
    #expect(try plan(["--netrc", "--cache", "https://a/"], files).managerOptions.session == nil)
  }

  @Test
  func `words of another program before the first entry of the netrc file are named, not read`()
    throws
  {
    let text = "secret\nmachine a login u password p"
    let files = sources(["/n": text], environment: ["NETRC": "/n"])
    let whole = try plan(["--netrc", "https://a/"], files)
    #expect(whole.requests[0].header("Authorization") != nil)
    #expect(whole.notes.count == 1 && whole.notes[0].contains("/n: line 1 was left out"))
    #expect(!whole.notes[0].contains("secret"))
  }

  @Test func `an error in a file is reported with its line`() throws {
    let files = sources(
      ["/n": "machine h\nfrobnicate", "jar": "#\n#\nx"], environment: ["NETRC": "/n"])
    #expect(refusal(["--netrc", "https://h/"], files)?.contains("/n: line 2: ") == true)
    #expect(
      refusal(["--cookie-file", "jar", "https://h/"], files)?.contains("jar: line 3: ") == true)
  }
}
