import Foundation
import HaulTesting
import Testing

/// A user interface is never blocked.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct MainThreadRuns {
  /// The longest time, in milliseconds, for which the main thread of a program was blocked during
  /// so many downloads.
  private func longest(of count: Int, _ options: String...) async throws -> Int {
    let files = (0..<count).map { FaultScript.Resource("/\($0)", seed: 7, length: 4 << 10) }
    return try await withFaultServer(FaultScript(files)) { server in
      let directory = FileManager.default.temporaryDirectory
        .appending(path: "haul-main-\(UUID().uuidString)").resolvingSymlinksInPath().path
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: directory) }
      let fixture = DrillFixture(server: server, directory: directory)
      let lines = try await fixture.run(["--watch-main", "\(count)"] + options).lines
      #expect(lines.contains(["completed", "\(count)"]))
      #expect(lines.contains(["events", "\(count)"]))
      #expect(server.snapshot.requests.count == count)
      return try #require(lines.first { $0.first == "longest" }?.last.flatMap { Int($0) })
    }
  }

  /// `make main-thread` measures how long it is blocked; `MainActorTests` check what may block it.
  @Test
  func `1,000 downloads are added, followed and awaited from the main thread`() async throws {
    _ = try await longest(of: 1000)
  }

  @Test func `The measurement detects a blocked main thread`() async throws {
    // The time in which other threads had the processor is subtracted: on a busy machine that may
    // be most of it.
    #expect(try await longest(of: 10, "--block-main", "2000") >= 100)
  }
}
