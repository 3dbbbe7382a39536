import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// What the control interface has for the page: limits, order, priorities, details, files.
@Suite(.timeLimit(.minutes(10)))
struct WebInterfaceRuns {
  private func call(
    _ method: String, _ path: String, _ body: String? = nil, _ fixture: DaemonFixture
  ) throws -> SocketCall {
    try SocketCall(
      method, "/api/v1/\(path)", ["Host: localhost", "Content-Type: application/json"], body: body,
      to: try fixture.location().socket)
  }

  private func limits(_ fixture: DaemonFixture) throws -> LimitsDocument {
    try JSONDecoder().decode(
      LimitsDocument.self, from: Data(try call("GET", "limits", nil, fixture).body.utf8))
  }

  @Test
  func `limits and the timetable are changed while it runs, and a wrong one changes nothing`()
    async throws
  {
    try await DaemonFixture.with { (fixture) async throws in
      #expect(try await fixture.haul("daemon", "start").status == 0)
      let before = try limits(fixture)
      #expect(before.schedule == [])
      let window = #"{"days":["monday","sunday"],"from":"22:00","to":"06:30"}"#
      let change = #"{"active":2,"active_per_host":0,"rate":4096,"schedule":[\#(window)]}"#
      #expect(try call("PATCH", "limits", change, fixture).status == 200)
      let after = try limits(fixture)
      #expect((after.active, after.activePerHost, after.rate) == (2, 0, 4096))
      #expect(after.connections == before.connections)
      #expect(after.schedule?.first?.days == ["monday", "sunday"])
      #expect(after.schedule?.first.map { "\($0.from)-\($0.to)" } == "22:00-06:30")
      let wrong = [
        (#"{"active":-1}"#, 422), (#"{"rate":-1}"#, 422), (#"{"connections":1000000}"#, 422),
        (#"{"active":3,"schedule":[{"days":["someday"],"from":"22:00","to":"06:00"}]}"#, 422),
        (#"{"active":3,"schedule":[{"days":["monday"],"from":"24:00","to":"06:00"}]}"#, 422),
        (#"{"active":3,"schedule":[{"days":[],"from":"2:00","to":"06:00"}]}"#, 422),
        (#"{"activ":3}"#, 400), (#"{"active":"3"}"#, 400),
      ]
      for (body, status) in wrong {
        #expect(try call("PATCH", "limits", body, fixture).status == status, "\(body)")
      }
      #expect(try limits(fixture) == after)
      #expect(try call("PATCH", "limits", #"{"schedule":[]}"#, fixture).status == 200)
      #expect(try limits(fixture).schedule == [])
    }
  }

  @Test func `what was changed last is kept, above the options, until it is taken back`()
    async throws
  {
    try await DaemonFixture.with { (fixture) async throws in
      var run = try await fixture.serve("-j", "3", "--limit-rate", "1M")
      let options = try limits(fixture)
      let window = #"{"days":["monday"],"from":"22:00","to":"06:30"}"#
      let change = #"{"rate":0,"connections":7,"schedule":[\#(window)]}"#
      #expect(try call("PATCH", "limits", change, fixture).status == 200)
      let changed = try limits(fixture)
      #expect(try await fixture.haul("daemon", "stop").status == 0)
      #expect(await run.end().status == 0)
      // What was not changed follows the options.
      run = try await fixture.serve("-j", "5", "--limit-rate", "1M")
      var expected = changed
      expected.active = 5
      #expect(try limits(fixture) == expected)
      let answer = try call("DELETE", "limits", nil, fixture)
      expected = options
      expected.active = 5
      #expect(try limits(fixture) == expected, "\(answer.body)")
      #expect(try await fixture.haul("daemon", "stop").status == 0)
      #expect(await run.end().status == 0)
      run = try await fixture.serve("-j", "5", "--limit-rate", "1M")
      #expect(try limits(fixture) == expected)
      // A file that is no such list is said, and the options count.
      #expect(try await fixture.haul("daemon", "stop").status == 0)
      #expect(await run.end().status == 0)
      try Data("{".utf8).write(to: URL(filePath: try fixture.location().limits))
      run = try await fixture.serve("-j", "5", "--limit-rate", "1M")
      #expect(try limits(fixture) == expected)
      #expect(try await fixture.haul("daemon", "stop").status == 0)
      let end = await run.end()
      #expect(end.errors.contains("the limits that were set last are not known"), "\(end.errors)")
    }
  }

  @Test func `a command shows, changes and takes back the same limits`() async throws {
    try await DaemonFixture.with { (fixture) async throws in
      #expect(try await fixture.haul("daemon", "start").status == 0)
      let options = try limits(fixture)
      let changed = try await fixture.haul(
        "limits", "--limit-rate", "2097152", "--max-per-host", "none", "--schedule",
        "fri-mon 22:00-06:00", "--schedule", "daily 01:00-02:00", "--json")
      #expect(changed.status == 0, "\(changed.errors)")
      let document = try JSONDecoder().decode(LimitsDocument.self, from: Data(changed.output.utf8))
      #expect(try limits(fixture) == document)
      #expect((document.rate, document.activePerHost) == (2_097_152, 0))
      #expect(document.active == options.active)
      #expect(document.schedule?.first?.days == ["monday", "friday", "saturday", "sunday"])
      let shown = try await fixture.haul("limits")
      #expect(shown.output.contains("mon,fri,sat,sun 22:00-06:00; daily 01:00-02:00"))
      #expect(shown.output.contains("2.0 MiB/s"), "\(shown.output)")
      for wrong in [
        "", "mon", "mon 25:00-26:00", "mon 24:00-06:00", "someday 10:00-11:00", "mon- 10:00-11:00",
        "mon 10:00", "mon,, 10:00-11:00", "mon 1:0-2:00",
      ] {
        #expect(try await fixture.haul("limits", "--schedule", wrong).status == 2, "\(wrong)")
      }
      #expect(try await fixture.haul("limits", "--reset", "-j", "2").status == 2)
      #expect(try await fixture.haul("limits", "--schedule", "always").status == 0)
      #expect(try limits(fixture).schedule == [])
      #expect(try await fixture.haul("limits", "--reset").status == 0)
      #expect(try limits(fixture) == options)
    }
  }

  @Test func `the order of the list, and one priority for several`() async throws {
    try await DaemonFixture.with(CommandFixture.file("/a")) { (fixture) async throws in
      #expect(try await fixture.haul("daemon", "start").status == 0)
      _ = try await fixture.haul("suspend")
      let first = try await fixture.add("/a", "-o", fixture.work.path("1"))
      let second = try await fixture.add("/a", "-o", fixture.work.path("2"))
      #expect(try await fixture.haul("move", "--first", second).status == 0)
      let order = try JSONDecoder().decode(
        OrderDocument.self, from: Data(try call("GET", "order", nil, fixture).body.utf8))
      #expect(order.ids.map(\.description) == [second, first])
      let command = #""command":"prioritize","transfers":{"ids":["\#(first)","\#(second)"]}"#
      #expect(
        try call("POST", "commands", "{\(command),\"priority\":\"utility\"}", fixture).status == 200
      )
      #expect(try await fixture.state(of: first).priority == "utility")
      #expect(try await fixture.state(of: second).priority == "utility")
      #expect(try call("POST", "commands", "{\(command)}", fixture).status == 400)
      #expect(
        try call("POST", "commands", "{\(command),\"priority\":\"x\"}", fixture).status == 422)
    }
  }

  @Test
  func `the details of a running download have its parts and its failed attempts`() async throws {
    let resource = CommandFixture.file(
      "/a", Fault(.status(503), when: .request(1)), Fault(.stall(after: 1 << 16)))
    try await DaemonFixture.with(resource) { (fixture) async throws in
      #expect(try await fixture.haul("daemon", "start").status == 0)
      let id = try await fixture.add("/a", "-o", fixture.work.path("a"))
      var details: DetailsDocument
      repeat {
        let answer = try call("GET", "transfers/\(id)/details", nil, fixture)
        details = try JSONDecoder().decode(DetailsDocument.self, from: Data(answer.body.utf8))
      } while details.present?.first?.last != 1 << 16
      #expect(details.present?.first?.first == 0)
      #expect(details.active.count == 1)
      #expect(details.attempts.first?.error.status == 503)
      #expect(details.added != nil && details.started != nil && details.ended == nil)
      #expect(try call("GET", "transfers/ZZZZZZZZ/details", nil, fixture).status == 404)
    }
  }

  @Test
  func `the details of a completed download say that its file is gone, those of an upload name it`()
    async throws
  {
    try await DaemonFixture.with(CommandFixture.file("/a")) { (fixture) async throws in
      #expect(try await fixture.haul("daemon", "start").status == 0)
      let path = fixture.work.path("a")
      let id = try await fixture.add("/a", "-o", path)
      #expect(try await fixture.haul("wait", "--all").status == 0)
      func details(_ id: String) throws -> DetailsDocument {
        let answer = try call("GET", "transfers/\(id)/details", nil, fixture)
        return try JSONDecoder().decode(DetailsDocument.self, from: Data(answer.body.utf8))
      }
      #expect(try details(id).isMissing == false)
      try FileManager.default.removeItem(atPath: path)
      #expect(try details(id).isMissing == true)
      try Data("file".utf8).write(to: URL(filePath: path))
      let added = try await fixture.haul("add", "--put", path, fixture.work.server.url("/a"))
      let upload = try details(added.output.trimmingCharacters(in: .newlines))
      #expect(upload.sources == [path] && upload.isMissing == nil)
    }
  }

  @Test
  func `show and the details have what was asked for, without values of header fields`()
    async throws
  {
    try await DaemonFixture.with(CommandFixture.file("/a")) { (fixture) async throws in
      #expect(try await fixture.haul("daemon", "start").status == 0)
      #expect(try await fixture.haul("suspend").status == 0)
      let digest = "md5=" + String(repeating: "0", count: 32)
      let id = try await fixture.add(
        "/a", "-d", "d", "-H", "X-Key: canary", "--checksum", digest)
      let added = try await fixture.haul(
        "add", "--after", id, "--run", "--", "sh", "-c", "exit 3")
      let program = added.output.trimmingCharacters(in: .newlines)
      let shown = try await fixture.haul("show", id).output
      let target = fixture.work.path("d/a")
      for part in ["target     \(target)", "checksum   \(digest)", "header     X-Key "] {
        #expect(shown.contains(part), "\(shown)")
      }
      let json = try await fixture.haul("show", "--json", id).output
      let request = try JSONValue(parsing: json)["request"]
      #expect(request?["target"] == .string(target) && !json.contains("canary"), "\(json)")
      let ran = try await fixture.haul("show", program).output
      for part in ["program    sh -c 'exit 3'", "after      \(id)", "directory  /"] {
        #expect(ran.contains(part), "\(ran)")
      }
      #expect(try await fixture.haul("list").output.contains("sh -c 'exit 3'"))
    }
  }

  @Test func `the status says what holds all transfers back, and until when`() async throws {
    try await DaemonFixture.with(CommandFixture.file("/a")) { (fixture) async throws in
      #expect(try await fixture.haul("daemon", "start").status == 0)
      func waiting() throws -> TransferDocument.Wait? {
        let body = try call("GET", "status", nil, fixture).body
        return try JSONDecoder().decode(StatusDocument.self, from: Data(body.utf8)).waiting
      }
      #expect(try waiting() == nil)
      // Two hours of one day, twelve hours or more from now.
      let day = Date.now.addingTimeInterval(3 * 86_400)
      let names = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]
      let name = names[Calendar(identifier: .gregorian).component(.weekday, from: day) - 1]
      let window = #"{"days":["\#(name)"],"from":"10:00","to":"12:00"}"#
      #expect(try call("PATCH", "limits", #"{"schedule":[\#(window)]}"#, fixture).status == 200)
      let closed = try #require(try waiting())
      #expect(closed.code == "schedule" && closed.until != nil)
      #expect(try await fixture.haul("suspend").status == 0)
      #expect(try waiting()?.code == "suspended")
    }
  }

  @Test
  func `over TCP, files are deleted below the directory, and not through a link`() async throws {
    try await RemoteFixture.with { (remote) async throws in
      let (fixture, root) = (remote.fixture, remote.root)
      let outside = fixture.work.path("outside")
      for path in [outside, "\(root)/sub"] {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      }
      for path in ["\(root)/sub/a", "\(root)/moved"] {
        let keys = #""url":"\#(fixture.work.server.url("/a"))?\#(path.count)","file":"\#(path)""#
        #expect(try remote.add(keys).status == 201)
      }
      _ = try await fixture.add("/a", "-o", "\(outside)/b")
      #expect(try await fixture.haul("wait", "--all").status == 0)
      // The name is now a link to another file of the same length.
      try FileManager.default.moveItem(atPath: "\(root)/moved", toPath: "\(outside)/moved")
      try FileManager.default.createSymbolicLink(
        atPath: "\(root)/moved", withDestinationPath: "\(outside)/moved")
      let left = try remote.remove(nil)
      #expect(Set(left) == ["\(root)/moved", "\(outside)/b"])
      #expect(!FileManager.default.fileExists(atPath: "\(root)/sub/a"))
      for path in ["\(outside)/b", "\(outside)/moved"] {
        #expect(FileManager.default.fileExists(atPath: path))
      }
    }
  }
}
