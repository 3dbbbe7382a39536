import HaulCLI
import HaulControl
import HaulCore
import Testing

/// The configuration file of haul serve.
@Suite struct ServeSettingsTests {
  private func serve(_ arguments: [String], _ sources: CommandSources) throws -> ServePlan {
    guard let plan = try Invocation.plan(["serve"] + arguments, from: sources) as? ServePlan else {
      throw UsageError("that is not serve")
    }
    return plan
  }

  private func files(_ text: String, secret: String? = nil) -> CommandSources {
    SettingsTests.files(text, secret.map { ["/home/me/secret": $0] } ?? [:])
  }

  @Test func `says who gets notices, and the command line overrides it`() throws {
    let text = """
      notify = failures
      notify-sound = false
      webhook = https://hook.example/x
      webhook-secret-file = ~/secret
      webhook-private
      notify-command = ~/bin/on-end
      notify-command = --label
      notify-command = a b=c
      """
    let notices = try serve([], files(text, secret: "key\nrest")).notices
    #expect(notices.level == .failures)
    #expect(!notices.hasSound)
    #expect(notices.webhook?.url.description == "https://hook.example/x")
    #expect(notices.webhook?.secret == NoticeSecret(Array("key".utf8)))
    #expect(notices.webhook?.mayBePrivate == true)
    #expect(notices.command == ["/home/me/bin/on-end", "--label", "a b=c"])
    let own = try serve(
      ["--notify", "all", "--notify-sound", "--no-webhook-private"], files(text, secret: "key")
    ).notices
    #expect(own.level == .all && own.hasSound && own.webhook?.mayBePrivate == false)
    #expect(try serve([], files("")).notices == NoticeSettings())
  }

  @Test func `keep-ended is a time or a number`() throws {
    #expect(try serve([], files("keep-ended = 30d")).keptEnds == .seconds(30 * 86_400))
    #expect(
      try serve(["--keep-ended", "1000"], files("keep-ended = 30d")).keptEnds == .newest(1000))
    #expect(try serve([], files("")).keptEnds == nil)
    #expect(throws: UsageError.self) { try serve([], files("keep-ended = month")) }
  }

  @Test
  func `every option of serve can be in it, and get ignores those that it does not have`() throws {
    let text = """
      listen = 127.0.0.1:8765
      listen = unix:/run/haul.sock
      host = nas.example
      host = nas:8443
      public-url = https://nas.example/haul
      proxy-user = root
      proxy-user = 4294967294
      tls-self-signed
      root = /srv/a
      root = /srv/b
      private-redirects
      notify = none
      webhook = https://hook.example/x
      notify-sound
      notify-command = x
      webhook-private = false
      connections = 3
      """
    let plan = try serve([], files(text))
    var remote = RemoteAccess(
      listeners: [.tcp(host: "127.0.0.1", port: 8765), .socket(path: "/run/haul.sock")],
      roots: ["/srv/a", "/srv/b"],
      hosts: [
        HostName(host: "nas.example", port: nil), HostName(host: "nas", port: 8443),
      ], publicURL: PublicAddress("https://nas.example/haul/"), tls: .selfSigned)
    remote.proxyUsers = [0, 4_294_967_294]
    #expect(plan.remote == remote)
    let own = try serve(
      ["--listen", "[::1]:1", "--tls-cert", "/c", "--tls-key", "/k"], files(text))
    #expect(own.remote.listeners == [.tcp(host: "::1", port: 1)])
    #expect(own.remote.tls == .files(certificate: "/c", key: "/k"))
    for wrong in ["unix:/run/haul.sock", "127.0.0.1:1"] {
      let name = wrong.hasPrefix("unix") ? "no such user" : "0"
      #expect(throws: UsageError.self) {
        try serve(
          ["--listen", wrong, "--public-url", "https://h/", "--proxy-user", name], files(""))
      }
    }
    #expect(plan.allowsPrivateRedirects)
    guard let get = try Invocation.plan(["get", "https://h/x"], from: files(text)) as? GetPlan
    else {
      throw UsageError("that is not get")
    }
    #expect(get.requests[0].connections == 3)
  }

  @Test(arguments: [
    ("notify = loud", "line 1: notify: write one of all, failures, groups, none"),
    ("webhook = hook.example/canary", "line 1: webhook: not an absolute address"),
    ("webhook = ftp://h/canary", "line 1: webhook: the scheme ftp is not supported"),
    ("webhook = http://[::ffff:10.0.0.1]/canary", "line 1: webhook: ::ffff:"),
    ("webhook = https://x.localhost/canary", "line 1: webhook: x.localhost has a"),
    ("webhook-secret-file = /x", "line 1: webhook-secret-file: --webhook-secret-file needs"),
    ("notify-command = run me", "line 1: notify-command: notify-command: write the program"),
    ("notify-command", "line 1: notify-command: a value is missing"),
    (
      "webhook = https://h/canary\nwebhook-secret-file = secret",
      "--webhook-secret-file secret: give the absolute path"
    ),
    (
      "webhook = https://h/canary\nwebhook-secret-file = ~/none",
      "--webhook-secret-file /home/me/none: there is no such file"
    ),
  ])
  func `a wrong value is refused with the line, and no address is repeated`(
    text: String, part: String
  ) throws {
    let message = try #require(refusal(["serve"], of: files(text)))
    #expect(message.hasPrefix("\(SettingsTests.path): \(part)"), "\(message)")
    #expect(!message.contains("canary"))
  }

  @Test
  func `a command is only in the file: neither the command line nor the environment has one`()
    throws
  {
    let message = try #require(refusal(["serve", "--notify-command", "x"], of: files("")))
    #expect(message.hasPrefix("notify-command is for the configuration file only"))
    var sources = files("")
    sources.environment["HAUL_NOTIFY_COMMAND"] = "x"
    #expect(try serve([], sources).notices.command == [])
  }

  @Test func `a file with a command must be one that others cannot change`() throws {
    for (text, isRefused) in [("notify-command = x", true), ("notify = none", false)] {
      var sources = files(text)
      let read = sources.read
      sources.read = { (path, purpose) throws(UsageError) in
        if purpose.isTrusted { throw UsageError("others can change the file") }
        return try read(path, purpose)
      }
      let message = refusal(["serve"], of: sources)
      #expect(message == (isRefused ? "\(SettingsTests.path): others can change the file" : nil))
    }
  }
}
