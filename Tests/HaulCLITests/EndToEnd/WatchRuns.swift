import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// `haul watch` beside a real daemon.
@Suite("haul watch", .timeLimit(.minutes(5)))
struct WatchRuns {
  @Test("ends with the last transfer, says how each ended, and has the exit status of wait")
  func ends() async throws {
    let stall = Fault(.stall(after: 1 << 20))
    try await DaemonFixture.with(CommandFixture.file("/a", stall), CommandFixture.file("/b")) {
      place in
      let (a, b) = (try await place.add("/a"), try await place.add("/b"))
      try await place.work.server.waitForHeld("/a")
      #expect(try await place.haul("wait", b).status == 0)
      let watch = try await place.begin("watch")
      place.work.server.release("/a")
      let result = await watch.end()
      #expect(result.status == 0, "\(result.errors)")
      #expect(result.errors.contains("haul: 2 completed"), "\(result.errors)")
      #expect(result.output.isEmpty)
      #expect(try await place.haul("cancel", a).status == 1, "it is completed")
    }
  }

  @Test("one that is paused ends it with status 3")
  func paused() async throws {
    try await DaemonFixture.with(CommandFixture.file("/a", Fault(.stall(after: 1 << 20)))) {
      place in
      let a = try await place.add("/a")
      #expect(try await place.haul("pause", a).status == 0)
      let result = try await place.haul("watch", a)
      #expect(result.status == 3)
      #expect(result.errors.contains("1 paused"), "\(result.errors)")
    }
  }

  @Test("--json prints each change of a transfer, the end last")
  func json() async throws {
    try await DaemonFixture.with(CommandFixture.file("/a"), CommandFixture.file("/b")) { place in
      _ = try await place.haul("suspend")
      let (a, _) = (try await place.add("/a"), try await place.add("/b"))
      let watch = try await place.begin("watch", "--json", a)
      _ = try await place.haul("unsuspend")
      let result = await watch.end()
      #expect(result.status == 0, "\(result.errors)")
      let lines = try result.output.split(separator: "\n").map {
        try JSONDecoder().decode(TransferDocument.self, from: Data($0.utf8))
      }
      #expect(Set(lines.map(\.id.description)) == [a])
      #expect(lines.last?.state == .completed)
    }
  }

  @Test("says so when the daemon is stopped")
  func stopped() async throws {
    try await DaemonFixture.with(CommandFixture.file("/a", Fault(.stall(after: 1 << 20)))) {
      place in
      _ = try await place.add("/a")
      let watch = try await place.begin("watch", "--json")
      try await watch.reach("the transfer was shown") { output, _ in output.contains("running") }
      #expect(try await place.haul("daemon", "stop").status == 0)
      let result = await watch.end()
      #expect(result.status == 1)
      #expect(result.errors.contains("the daemon was stopped"), "\(result.errors)")
    }
  }

  @Test("an unknown id is refused")
  func unknown() async throws {
    try await DaemonFixture.with(CommandFixture.file("/a")) { place in
      #expect(try await place.haul("daemon", "start").status == 0)
      let result = try await place.haul("watch", "nothing")
      #expect(result.status == 1)
      #expect(result.errors.contains("there is no transfer 'nothing'"), "\(result.errors)")
    }
  }
}
