import HaulCLI
import HaulControl
import HaulCore
import Testing

/// What a reload of haul.conf changes.
@Suite struct ServeReloadTests {
  private func serve(_ text: String) throws -> ServePlan {
    let sources = SettingsTests.files(
      text, ["/home/me/secret": "key", "/home/me/other": "another"])
    guard let plan = try Invocation.plan(["serve"], from: sources) as? ServePlan else {
      throw UsageError("that is not serve")
    }
    return plan
  }

  private func changes(_ old: String, _ new: String) throws -> ReloadDocument {
    let plan = try serve(old)
    return try serve(new).changes(since: plan, startedWith: plan)
  }

  @Test(arguments: [
    ("max-active = 3", "max-active"), ("max-per-host = 2", "max-per-host"),
    ("max-connections = 9", "max-connections"), ("limit-rate = 2M", "limit-rate"),
    ("max-connections-per-host = 3", "max-connections-per-host"),
    ("schedule = daily 01:00-05:00", "schedule"), ("notify = failures", "notify"),
    ("notify-sound = false", "notify-sound"), ("notify-command = x", "notify-command"),
    ("keep-ended = 30d", "keep-ended"), ("watch = /lists", "watch"),
  ])
  func `it counts at once`(line: String, key: String) throws {
    #expect(try changes("", line) == ReloadDocument(changed: [key]))
    #expect(try changes(line, "") == ReloadDocument(changed: [key]))
    #expect(try changes(line, line) == ReloadDocument())
  }

  @Test func `a webhook and its secret count at once`() throws {
    let old = "webhook = https://a.example/x\nwebhook-secret-file = ~/secret"
    let new = "webhook = https://b.example/x\nwebhook-secret-file = ~/other\nwebhook-private"
    #expect(
      try changes(old, new).changed == ["webhook", "webhook-secret-file", "webhook-private"])
  }

  @Test(arguments: [
    ("listen = 127.0.0.1:1", "listen"), ("host = nas", "host"), ("root = /srv", "root"),
    ("private-redirects", "private-redirects"), ("verbose", "verbose"), ("cacert = /c", "cacert"),
    ("cert = /c", "cert, key"), ("tls-min = 1.3", "tls-min"), ("http2", "http1.1, http2"),
    ("http1.1", "http1.1, http2"), ("proxy = http://p:1", "proxy"), ("noproxy = h", "noproxy"),
    ("interface = 127.0.0.1", "interface"), ("resolve = h:127.0.0.1", "resolve"),
    ("user-agent = x", "user-agent"), ("connect-timeout = 3s", "connect-timeout"),
    ("idle-timeout = 3s", "idle-timeout"),
  ])
  func `it counts after a restart, and is said so until then`(line: String, key: String) throws {
    #expect(try changes("", line) == ReloadDocument(needsRestart: [key]))
    let (first, second) = (try serve(""), try serve(line))
    #expect(
      second.changes(since: second, startedWith: first) == ReloadDocument(needsRestart: [key]))
    #expect(first.changes(since: second, startedWith: first) == ReloadDocument())
  }

  @Test func `each key of serve is in one of the tables`() throws {
    // Each line sets one thing that the plan has; what it does not name would be lost silently.
    let tls = "listen = 127.0.0.1:1\ntls-cert = /c\ntls-key = /k"
    #expect(
      try changes("listen = 127.0.0.1:1", tls).needsRestart
        == ["tls-cert, tls-key, tls-self-signed"])
    let proxy = "listen = 127.0.0.1:1\npublic-url = https://nas.example/"
    #expect(try changes("listen = 127.0.0.1:1", proxy).needsRestart == ["public-url"])
    let plan = try serve("")
    let names = Mirror(reflecting: plan).children.compactMap(\.label)
    #expect(
      names == [
        "managerOptions", "remote", "allowsPrivateRedirects", "verbose", "notices", "keptEnds",
        "watched",
      ], "a new property needs a row in ServeReload.swift")
  }

  @Test func `the answer is one sentence for each part`() {
    #expect(ReloadDocument().text == "haul.conf was read again; nothing else counts now")
    var missing = ReloadDocument()
    missing.isMissing = true
    #expect(
      missing.text
        == "there is no haul.conf, which counts as an empty one; nothing else counts now")
    let document = ReloadDocument(
      changed: ["limit-rate", "schedule"], needsRestart: ["listen"], overridden: ["limit-rate"])
    #expect(
      document.text
        == "haul.conf was read again; changed: limit-rate, schedule; haul limits has set "
        + "limit-rate, which counts above it (--reset); after haul daemon restart only: listen")
  }
}
