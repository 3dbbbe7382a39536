import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// Secrets of a transfer are in the daemon's database, and nowhere else.
@Suite("Secrets in the background", .timeLimit(.minutes(5)))
struct DaemonSecretsRuns {
  /// A password, a signed query, a bearer token.
  private static let canaries = ["canary-password", "canary-signature", "canary-token"]

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

  @Test("no output, log, event, metric, journal or file name has one; a failure neither")
  func planted() async throws {
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
}
