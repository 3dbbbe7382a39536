import Foundation
import HaulTesting
import Testing

/// Kills the program while its list has a transfer in each resting state.
extension KillPointRuns {
  @Test
  func `killed with a failed transfer, it keeps order and states, and a retry resumes`()
    async throws
  {
    try await Self.fixture { fixture in
      let sent: Int64 = 200_000
      fixture.server.setFaults(
        "/first",
        [
          Fault(.close(after: sent), when: .request(1)),
          Fault(.status(404), when: .init(firstRequest: 2)),
        ])
      let first = try await fixture.run(["--dies-when-empty"])
      #expect(first.wasKilled && first.did("cancel"), "\(first.lines)")
      let atRest = [
        "moved completed", "first failed", "paused paused", "cancelled cancelled",
        "second queued", "behind queued", "untagged completed", "step queued",
      ]
      let part = try fixture.size(of: "first.haul.part")
      #expect(part > 0)
      fixture.server.setFaults("/first", [])
      fixture.server.resetStatistics()
      let second = try await fixture.run(["--retry", "first"])
      let found = (second.states("begins") ?? []).map { "\($0.name) \($0.state)" }
      #expect(found == atRest, "\(second.lines)")
      // A transfer after it continues. Paused transfers stay paused, and completed ones are not
      // requested again.
      let ends = (second.states("ends") ?? []).map { "\($0.name) \($0.state)" }
      #expect(
        ends == [
          "moved completed", "first completed", "paused paused", "cancelled cancelled",
          "second completed", "behind queued", "untagged completed", "step completed",
        ], "\(second.lines)")
      let requests = fixture.server.snapshot.requests
      #expect(requests.map(\.path) == ["/first", "/second"])
      #expect(requests.first?.range?.hasPrefix("bytes=0-") == false)
      #expect(requests.first.map { $0.bodyBytesSent < DrillFixture.length(of: "first") } == true)
    }
  }
}

extension DrillFixture {
  /// The size of a file, in bytes.
  func size(of name: String) throws -> Int {
    try Data(contentsOf: URL(filePath: "\(directory)/files/\(name)")).count
  }
}
