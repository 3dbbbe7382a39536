import Crypto
import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// The real daemon tells when transfers and groups end.
@Suite(.timeLimit(.minutes(10)))
struct NoticeRuns {
  @Test func `a list that fails in the watch folder is reported, with its name and the reason`()
    async throws
  {
    try await NoticeFixture.with { (notices) async throws in
      let folder = notices.work.path("lists")
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      let serving = try await notices.serve(
        "--watch", folder, "--root", notices.work.path("target"))
      try notices.write("https://h/1\n  priority=high\n", at: "\(folder)/l", permissions: 0o600)
      let posts = await notices.receiver.messages(until: "list l: failed")
      let notice = try JSONDecoder().decode(
        Notice.self, from: Data(try #require(posts.last).body.utf8))
      #expect(notice.kind == .list && notice.text.contains("line 2: priority"), "\(notice)")
      #expect(notice.path == "\(folder)/failed/l")
      let calls = try await notices.lines(of: notices.commandLog, until: "list-")
      #expect(calls.last?[2] == "failed" && calls.last?[4] == "\(folder)/failed/l")
      serving.send(SIGTERM)
      #expect(await serving.end().status == 0)
    }
  }

  @Test
  func `E5: each end is reported once to each subscriber, with one id; the ends differ`()
    async throws
  {
    try await NoticeFixture.with(
      CommandFixture.file("/a"), CommandFixture.file("/bad", Fault(.status(403))),
      CommandFixture.file("/c", Fault(.stall(after: CommandFixture.stallOffset))),
      answers: [.status(500), .status(503)]
    ) { (notices) async throws in
      let serving = try await notices.serve()
      let good = try await notices.add("/a", "--group", "g")
      #expect(try await notices.haul("wait", good).status == 0)
      let bad = try await notices.add("/bad", "--group", "g")
      #expect(try await notices.haul("wait", bad).status == 1)
      let gone = try await notices.add("/c")
      try await notices.work.server.waitForHeld("/c")
      #expect(try await notices.haul("cancel", gone).status == 0)

      let posts = await notices.receiver.messages(until: "c: cancelled")
      let reported = try posts.map {
        try JSONDecoder().decode(Notice.self, from: Data($0.body.utf8))
      }
      #expect(zip(posts, reported).allSatisfy { $0.id == $1.id })
      let titles = [
        "a: completed", "group g: completed", "bad: failed", "group g: 1 of 2 failed",
        "c: cancelled",
      ]
      #expect(reported.dropFirst(2).map(\.title) == titles, "in order")
      #expect(posts.prefix(3).allSatisfy { $0.id == posts[0].id && $0.body == posts[0].body })
      #expect(Set(posts.map(\.id)).count == titles.count)

      let calls = try await notices.lines(of: notices.commandLog, until: "cancelled")
      #expect(calls.map { $0[1] } == posts.dropFirst(2).map(\.id))
      #expect(calls.allSatisfy { $0[0] == "two words" })
      let words = calls.map { "\($0[2]) \($0[3]) \($0[5])" }
      #expect(
        words == ["completed g ", "completed g ", "failed g forbidden", "failed g ", "cancelled  "])
      #expect(calls[0][4] == notices.work.path("a"))

      let shown = try await notices.lines(of: notices.desktopLog, until: "c: cancelled")
      #expect(shown.map { $0[5] } == titles)
      let urgent = shown.map { $0.contains("--urgency=critical") }
      #expect(urgent == [false, false, true, true, false])
      #expect(shown[0].contains("--hint=string:sound-name:complete-download"))
      #expect(shown[2].contains("--hint=string:sound-name:dialog-error"))
      serving.send(SIGTERM)
      #expect(await serving.end().status == 0)
    }
  }

  @Test
  func `a click opens the directory of the file, or the page; one that waits delays nothing`()
    async throws
  {
    try await NoticeFixture.with(
      CommandFixture.file("/a"), CommandFixture.file("/b"),
      CommandFixture.file("/bad", Fault(.status(403)))
    ) { (notices) async throws in
      try notices.allowClicks()
      let serving = try await notices.serve()
      _ = try await notices.add("/a")
      _ = try await notices.lines(of: notices.desktopLog, until: "a: completed")
      _ = try await notices.add("/b")
      _ = try await notices.lines(of: notices.desktopLog, until: "b: completed")
      try await notices.click("a: completed")
      let directory = String(notices.work.path("a").dropLast(2))
      let opened = try await notices.lines(of: notices.openLog, until: directory)
      #expect(opened == [[directory, ""]])
      _ = try await notices.add("/bad")
      try await notices.click("bad: failed")
      let redirects = try notices.fixture.location().redirects
      let page = try await notices.lines(of: notices.openLog, until: redirects)
      #expect(page.count == 2)
      let file = try String(contentsOfFile: page[1][0], encoding: .utf8)
      #expect(file.contains("/#code="))
      let shown = try await notices.lines(of: notices.desktopLog, until: "bad: failed")
      #expect(shown.map { $0.suffix(3).first } == ["a: completed", "b: completed", "bad: failed"])
      #expect(shown.allSatisfy { $0.contains("--action=default=Show") })
      // The program of the second one still waits for a click.
      serving.send(SIGTERM)
      #expect(await serving.end().status == 0)
    }
  }

  @Test
  func `what is posted is signed, and no secret is in a log, an answer or a file`() async throws {
    try await NoticeFixture.with(
      CommandFixture.file("/a"), answers: [.status(500), .status(307)]
    ) { (notices) async throws in
      let serving = try await notices.serve("--verbose")
      _ = try await notices.add("/a")
      var posts: [WebhookReceiver.Message] = []
      while posts.count < 3 { posts += await notices.receiver.messages(until: "a: completed") }
      let key = SymmetricKey(data: Array(NoticeFixture.secret.utf8))
      for post in posts {
        let code = HMAC<SHA256>.authenticationCode(for: Array(post.body.utf8), using: key)
        let digits = code.map { String(format: "%02x", $0) }.joined()
        #expect(post.fields["x-haul-signature"] == "sha256=\(digits)")
        #expect(post.line == "POST \(NoticeFixture.hook) HTTP/1.1", "no redirect is followed")
        #expect(post.fields["content-type"] == "application/json")
      }
      let socket = try notices.fixture.location().socket
      var shown = [String(describing: try await notices.notices())]
      for path in ["/metrics", "/api/v1/transfers", "/api/v1/status"] {
        shown.append(try SocketCall("GET", path, to: socket).body)
      }
      #expect(try await notices.haul("daemon", "stop").status == 0)
      let log = await serving.end().errors
      #expect(log.contains("attempt 1 failed: http://127.0.0.1:\(notices.receiver.port): HTTP 500"))
      #expect(log.contains("works again after 2 failed attempts"))
      shown.append(log)
      let state = try notices.fixture.location().directory
      for name in try FileManager.default.subpathsOfDirectory(atPath: state) {
        let data = FileManager.default.contents(atPath: "\(state)/\(name)")
        shown.append(String(decoding: data ?? Data(), as: UTF8.self))
      }
      for text in shown { #expect(!text.contains("canary"), "\(text.prefix(2000))") }
    }
  }

  @Test
  func `after SIGKILL between an end and its notice, the notice comes; the others are not late`()
    async throws
  {
    try await NoticeFixture.with(
      CommandFixture.file("/a"), CommandFixture.file("/b"), answers: [.hold]
    ) { (notices) async throws in
      let serving = try await notices.serve()
      _ = try await notices.add("/a")
      let first = await notices.receiver.messages(until: "a: completed")
      // While the webhook has no answer.
      _ = try await notices.add("/b")
      _ = try await notices.lines(of: notices.commandLog, until: notices.work.path("b"))
      _ = try await notices.lines(of: notices.desktopLog, until: "b: completed")
      serving.send(SIGKILL)
      _ = await serving.end()
      let next = try await notices.serve()
      let again = await notices.receiver.messages(until: "b: completed")
      #expect(again.first?.id == first[0].id)
      #expect(again.count == 2)
      next.send(SIGTERM)
      #expect(await next.end().status == 0)
      for name in ["notified-webhook", "notified-command", "notified-desktop", "notices"] {
        let path = "\(try notices.fixture.location().directory)/\(name)"
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
      }
    }
  }

  @Test
  func `a private address is refused, also behind a name, unless it is allowed`() async throws {
    try await NoticeFixture.with(CommandFixture.file("/a"), CommandFixture.file("/b")) {
      (notices) async throws in
      for host in [nil, "localhost"] {
        try notices.configure(host: host, isPrivate: false)
        let result = try await notices.haul("serve")
        #expect(result.status == 2)
        #expect(result.errors.contains("has a private address; to allow that, give"))
      }
      try notices.configure(
        "resolve = hook.example:127.0.0.1", host: "hook.example", isPrivate: false)
      let refusing = try await notices.serve()
      _ = try await notices.add("/a")
      try await refusing.reach("it refused") { _, errors in
        errors.contains("has a private address; to allow that, write: webhook-private = true")
      }
      refusing.send(SIGTERM)
      #expect(await refusing.end().status == 0)
      try notices.configure()
      let serving = try await notices.serve()
      _ = try await notices.add("/b")
      let posts = await notices.receiver.messages(until: "b: completed")
      #expect(posts.map { $0.body.contains("a: completed") } == [true, false])
      serving.send(SIGTERM)
      #expect(await serving.end().status == 0)
    }
  }

  @Test func `a configuration file that others can change runs no command`() async throws {
    try await NoticeFixture.with { (notices) async throws in
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o664], ofItemAtPath: notices.configuration)
      // Every command reads the file; this one ends also when it accepts it.
      let result = try await notices.haul("verify", "none", "--checksum", "md5=00")
      #expect(result.status == 2)
      #expect(result.errors.contains("run: chmod go-w"), "\(result.errors)")
    }
  }

  @Test
  func `without sound, only failures, or nothing; a channel that is new begins with the present`()
    async throws
  {
    try await NoticeFixture.with(
      CommandFixture.file("/a"), CommandFixture.file("/b"),
      CommandFixture.file("/bad", Fault(.status(403)))
    ) { (notices) async throws in
      let silent = try await notices.serve("--notify", "none")
      _ = try await notices.add("/a")
      #expect(try await notices.haul("wait", "--all").status == 0)
      #expect(try await notices.haul("daemon", "stop").status == 0)
      #expect(await silent.end().status == 0)
      try notices.configure("notify = failures")
      let serving = try await notices.serve("--no-notify-sound")
      _ = try await notices.add("/b")
      #expect(try await notices.haul("wait", "--all").status == 0)
      _ = try await notices.add("/bad")
      let shown = try await notices.lines(of: notices.desktopLog, until: "bad: failed")
      #expect(shown.count == 1)
      #expect(shown[0].contains("--hint=boolean:suppress-sound:true"))
      #expect(try await notices.lines(of: notices.commandLog, until: "failed").count == 1)
      #expect(await notices.receiver.messages(until: "bad: failed").count == 1)
      #expect(try await notices.notices().unseen == 3, "the page has all")
      serving.send(SIGTERM)
      #expect(await serving.end().status == 0)
    }
  }

  @Test
  func `the number of unseen ends goes down when they are seen, and survives SIGKILL`() async throws
  {
    try await NoticeFixture.with(
      CommandFixture.file("/a"), CommandFixture.file("/b")
    ) { (notices) async throws in
      let serving = try await notices.serve()
      _ = try await notices.add("/a")
      _ = await notices.receiver.messages(until: "a: completed")
      _ = try await notices.add("/b")
      _ = await notices.receiver.messages(until: "b: completed")
      var page = try await notices.notices()
      while page.notices.count < 2 { page = try await notices.notices() }
      #expect(page.notices.map(\.title) == ["b: completed", "a: completed"])
      #expect(page.unseen == 2)
      let seen = try SocketCall(
        "PATCH", "/api/v1/notices", ["Host: localhost", "Content-Type: application/json"],
        body: #"{"seen_up_to":\#(page.notices[1].number)}"#, to: notices.fixture.location().socket)
      #expect(seen.status == 200)
      #expect(seen.body.hasSuffix(#""unseen":1}"#), "\(seen.body)")
      serving.send(SIGKILL)
      _ = await serving.end()
      let next = try await notices.serve()
      #expect(try await notices.notices() == NoticePage(notices: page.notices, unseen: 1))
      next.send(SIGTERM)
      #expect(await next.end().status == 0)
    }
  }
}
