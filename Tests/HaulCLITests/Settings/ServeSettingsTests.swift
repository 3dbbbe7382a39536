import HaulCLI
import HaulControl
import HaulCore
import HaulKit
import HaulTesting
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

  /// The long names of the options of a command.
  private func options(of command: String) throws -> Set<String> {
    let text = (try invocation(["--experimental-dump-help"]) as? PrintedText)?.text
    let root = try JSONValue(parsing: try #require(text))
    let commands = try #require(root["command"]?["subcommands"]?.array)
    let found = try #require(commands.first { $0["commandName"]?.string == command })
    let names = (found["arguments"]?.array ?? []).flatMap { $0["names"]?.array ?? [] }
    return Set(
      names.filter { $0["kind"]?.string == "long" }.compactMap { $0["name"]?.string })
  }

  @Test func `Each option of serve is a key of the file`() throws {
    let names = try options(of: "serve").filter { !$0.hasPrefix("no-") }
    #expect(names.count > 20)
    for name in names.subtracting(["help", "help-hidden", "version"]) {
      let message = refusal(["serve"], of: files("\(name) = 1")) ?? ""
      #expect(!message.contains("unknown option"), "\(message)")
    }
  }

  @Test func `Each limit that can be set is an option of serve, and so a key of the file`() throws {
    let limits = try options(of: "limits")
    #expect(limits.isSuperset(of: ["max-active", "schedule"]))
    let missing = limits.subtracting(try options(of: "serve"))
      .subtracting(["reset", "json", "help", "version"])
    #expect(missing == [])
  }

  @Test func `limits and the schedule are in it, and the command line replaces the schedule`()
    throws
  {
    let text = """
      schedule = mon-fri 22:00-06:00
      schedule = sat,sun 00:00-24:00
      max-connections = 5
      max-connections-per-host = 2
      max-active = 3
      """
    let options = try serve([], files(text)).managerOptions
    #expect(
      options.schedule == [
        Schedule.Window(.workdays, from: 22 * 60, to: 6 * 60),
        Schedule.Window([.saturday, .sunday], from: 0, to: 24 * 60),
      ])
    #expect((options.maximumConnections, options.connectionsPerHost) == (5, 2))
    #expect(options.maximumActive == 3)
    let configuration = try options.configuration(logger: nil, isAttended: false)
    #expect(configuration.schedule == Schedule(options.schedule))
    #expect((configuration.maximumConnections, configuration.connectionsPerHost) == (5, 2))
    let own = try serve(["--schedule", "daily 01:00-05:00"], files(text)).managerOptions
    #expect(own.schedule == [Schedule.Window(.everyDay, from: 60, to: 300)])
    #expect(try serve(["--schedule", "always"], files(text)).managerOptions.schedule == [])
    let message = try #require(refusal(["serve"], of: files("\nschedule = at night")))
    #expect(
      message.hasPrefix("\(SettingsTests.path): line 2: schedule: --schedule at night: write"),
      "\(message)")
    // `get` has no such option.
    _ = try Invocation.plan(["get", "https://h/x"], from: files(text))
  }

  @Test(arguments: [
    ("daily 0:00-7:00", 0, 7), ("9-17", 9, 17), ("0:00-7:00", 0, 7), ("daily 22-6:00", 22, 6),
    ("0-24", 0, 24),
  ])
  func `times of day need no leading zeros, and every day needs no word`(
    text: String, from: Int, to: Int
  ) throws {
    #expect(
      try serve(["--schedule", text], files("")).managerOptions.schedule
        == [Schedule.Window(.everyDay, from: from * 60, to: to * 60)])
  }

  @Test(
    arguments: [
      ("9-17", nil), ("9-17 500K", 500 << 10), ("daily 9-17 1MiB", 1 << 20),
    ] as [(String, Int64?)])
  func `a window may have a rate`(text: String, rate: Int64?) throws {
    let window = Schedule.Window(.everyDay, from: 9 * 60, to: 17 * 60, rateLimit: rate)
    #expect(try serve(["--schedule", text], files("")).managerOptions.schedule == [window])
    #expect(try LimitsDocument.Window(window).window() == window)
  }

  @Test func `a wrong rate of a window is refused, with what to write`() {
    let message = refusal(["serve", "--schedule", "9-17 5X"], of: files("")) ?? ""
    #expect(message.contains("9-17 5X: ") && message.contains("500K"), "\(message)")
    let nothing = refusal(["serve", "--schedule", "9-17 0"], of: files("")) ?? ""
    #expect(nothing.contains("leave them out"), "\(nothing)")
  }

  @Test(arguments: [
    "mon 1:0-05:00", "mon 001:00-05:00", "-5", "1--5", "5", "mon 1-", "mon 1-25", "1-5 mon",
    "mon +1:00-05:00", "xyz 01:00-05:00", "mon 24:00-05:00", "",
  ])
  func `other words are no schedule`(text: String) {
    #expect(throws: UsageError.self) { try serve(["--schedule", text], files("")) }
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
