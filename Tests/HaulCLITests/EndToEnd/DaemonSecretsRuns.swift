import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// Secrets of a transfer are in the daemon's database, and nowhere else.
@Suite(.timeLimit(.minutes(10)))
struct DaemonSecretsRuns {
  /// A password, a signed query, a bearer token; an access key, and a text of a form.
  private static let canaries = [
    "canary-password", "canary-signature", "canary-token", "canary-key", "canary-session",
    "canary-text",
  ]

  private func expectNone(_ text: String, _ fixture: String) {
    for canary in Self.canaries {
      #expect(!text.contains(canary), "\(canary) in \(fixture): \(text.prefix(2000))")
    }
  }

  /// Every file of the state directory and of the downloads.
  private func files(_ fixture: DaemonFixture) throws -> [(path: String, bytes: Data)] {
    let root = fixture.work.directory
    return try FileManager.default.subpathsOfDirectory(atPath: root).compactMap { path in
      let full = URL(filePath: root).appending(path: path)
      var isDirectory: ObjCBool = false
      guard FileManager.default.fileExists(atPath: full.path, isDirectory: &isDirectory),
        !isDirectory.boolValue, !path.hasSuffix(".sock")
      else { return nil }
      return (path, try Data(contentsOf: full))
    }
  }

  @Test
  func `no output, log, event, metric, journal or file name has one; a failure neither`()
    async throws
  {
    let query = "/a?X-Amz-Signature=canary-signature"
    try await DaemonFixture.with(
      CommandFixture.file("/a", Fault(.stall(after: CommandFixture.stallOffset))),
      CommandFixture.file("/b", Fault(.status(403)))
    ) { (fixture) async throws in
      let serving = try await fixture.serve("--verbose", "--listen", "127.0.0.1:0")
      let origin = fixture.work.server.origin.replacing("://", with: "://user:canary-password@")
      let adding = try await fixture.work.haul(
        [
          "add", "\(origin)\(query)", "\(origin)/b", "-x", "1", "-H",
          "Authorization: Bearer canary-token",
        ], environment: fixture.environment)
      #expect(adding.status == 0, "\(adding.errors)")
      try await fixture.work.server.waitForHeld("/a")
      let ids = adding.output.split(separator: "\n").map(String.init)
      #expect(try await fixture.haul("wait", ids[1]).status == 1)

      let socket = try fixture.location().socket
      var shown = [("add", adding.output + adding.errors)]
      for arguments in [["list"], ["list", "--json"], ["daemon", "status"]]
        + ids.flatMap({ [["show", $0], ["show", "--json", $0], ["explain", $0]] })
      {
        let result = try await fixture.work.haul(arguments, environment: fixture.environment)
        shown.append((arguments.joined(separator: " "), result.output + result.errors))
      }
      for path in ["/metrics", "/api/v1/transfers", "/api/v1/transfers/canary-token"] {
        let call = try SocketCall("GET", path, to: socket)
        if call.status == 200 { shown.append((path, call.body)) }
      }
      let events = try await fixture.begin("watch", "--json")
      try await events.reach("both were shown") { output, _ in
        ids.allSatisfy { output.contains($0) }
      }
      for (path, bytes) in try files(fixture) where !path.contains("queue.sqlite") {
        shown.append((path, String(decoding: bytes, as: UTF8.self)))
        expectNone(path, "a name")
      }
      fixture.work.server.setFaults("/a", [])
      #expect(try await fixture.haul("cancel", ids[0]).status == 0)
      #expect(try await fixture.haul("daemon", "stop").status == 0)
      shown.append(("watch", await events.end().output))
      shown.append(("the log", await serving.end().errors))
      for (fixture, text) in shown { expectNone(text, fixture) }
      // The control: a search of these files finds what is there.
      let database = try files(fixture).filter { $0.path.contains("queue.sqlite") }
      #expect(
        database.contains { $0.bytes.firstRange(of: Data("canary-password".utf8)) != nil })
    }
  }

  @Test(arguments: [true, false])
  func `a program gets no secret of the shell that started the daemon`(isServed: Bool) async throws
  {
    try await DaemonFixture.with { (fixture) async throws in
      let shell = fixture.environment.merging([
        "AWS_SECRET_ACCESS_KEY": "canary-key", "HAUL_PASSWORD": "canary-password",
        "SOME_API": "canary-token", "LANG": "C.UTF-8",
      ]) { $1 }
      let serving =
        isServed
        ? try await CommandRun(["serve"], in: fixture.work.directory, environment: shell) : nil
      if serving == nil {
        let start = try await fixture.work.haul(["daemon", "start"], environment: shell)
        #expect(start.status == 0, "\(start.errors)")
        // That of a daemon that was started by hand has what its user gave it.
        let path = "/proc/\(try await fixture.pid())/environ"
        let text = String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
        expectNone(text, "the daemon")
        #expect(text.contains("LANG=C.UTF-8"))
      }
      while try await fixture.haul("daemon", "status").status != 0 {}
      let adding = try await fixture.haul("add", "--run", "--", "sh", "-c", "env >variables")
      #expect(adding.status == 0, "\(adding.errors)")
      #expect(try await fixture.haul("wait", "--all").status == 0)
      let variables = String(decoding: try fixture.work.contents("variables"), as: UTF8.self)
      expectNone(variables, "a program")
      #expect(variables.contains("LANG=C.UTF-8") && variables.contains("HAUL_TRANSFER_ID="))
      #expect(try await fixture.haul("daemon", "stop").status == 0)
      _ = await serving?.end()
    }
  }

  @Test func `access keys and texts of forms are in the database only`() async throws {
    let store = FaultScript.Resource("/bucket/", length: 0).with {
      ($0.service, $0.faults) = (.s3, [Fault(.status(403))])
    }
    try await DaemonFixture.with(
      store, FaultScript.Resource("/form", length: 0, faults: [Fault(.stallBeforeHead)])
    ) { (fixture) async throws in
      try Data("file".utf8).write(to: URL(filePath: fixture.work.path("f.bin")))
      let serving = try await fixture.serve("--verbose")
      let keys = [
        "AWS_ENDPOINT_URL_S3": fixture.work.server.origin, "AWS_ACCESS_KEY_ID": "id",
        "AWS_SECRET_ACCESS_KEY": "canary-key", "AWS_SESSION_TOKEN": "canary-session",
      ]
      var (shown, ids) = ([(String, String)](), [String]())
      for arguments in [
        ["--put", "f.bin", "s3://bucket/k"],
        ["--form", "f=@f.bin", "--field", "n=canary-text", fixture.work.server.url("/form")],
      ] {
        let result = try await fixture.work.haul(
          ["add"] + arguments, environment: fixture.environment.merging(keys) { $1 })
        #expect(result.status == 0, "\(result.errors)")
        ids.append(result.output.trimmingCharacters(in: .newlines))
        shown.append(("add", result.output + result.errors))
      }
      #expect(try await fixture.haul("wait", ids[0]).status == 1)
      try await fixture.work.server.waitForHeld("/form")
      for arguments in [["list", "--json"]]
        + ids.flatMap({ [["show", $0], ["show", "--json", $0], ["explain", $0]] })
      {
        let result = try await fixture.work.haul(arguments, environment: fixture.environment)
        shown.append((arguments.joined(separator: " "), result.output + result.errors))
      }
      for (path, bytes) in try files(fixture) where !path.contains("queue.sqlite") {
        shown.append((path, String(decoding: bytes, as: UTF8.self)))
        expectNone(path, "a name")
      }
      let database = try files(fixture).filter { $0.path.contains("queue.sqlite") }
      for canary in ["canary-key", "canary-session", "canary-text"] {
        #expect(database.contains { $0.bytes.firstRange(of: Data(canary.utf8)) != nil })
      }
      #expect(try await fixture.haul("remove", "--all").status == 0)
      #expect(try await fixture.haul("daemon", "stop").status == 0)
      shown.append(("the log", await serving.end().errors))
      for (path, bytes) in try files(fixture) {
        shown.append((path, String(decoding: bytes, as: UTF8.self)))
      }
      for (fixture, text) in shown { expectNone(text, fixture) }
    }
  }
}
