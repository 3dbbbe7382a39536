import Foundation
import HaulTesting
import Testing

/// Managers released without a shutdown.
@Suite(.timeLimit(.minutes(10)))
struct DeallocatedManagerRuns {
  @Test func `100 of each kind leave no open descriptor, thread or connection`() async throws {
    let files = [
      FaultScript.Resource("/whole", seed: 7, length: 4 << 10),
      FaultScript.Resource("/missing", seed: 7, length: 1, faults: [Fault(.status(404))]),
    ]
    try await withFaultServer(FaultScript(files)) { server in
      let directory = FileManager.default.temporaryDirectory
        .appending(path: "haul-forget-\(UUID().uuidString)").resolvingSymlinksInPath().path
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: directory) }
      let fixture = DrillFixture(server: server, directory: directory)
      let lines = try await fixture.run(["--forget", "100"]).lines
      #expect(
        lines.contains { $0.first == "left" && $0.dropFirst().allSatisfy { Int($0) ?? 1 <= 0 } })
      #expect(server.snapshot.requestCount("/whole") == 101)
      // Each is asked once more without a range.
      #expect(server.snapshot.requestCount("/missing") == 200)
    }
  }
}
