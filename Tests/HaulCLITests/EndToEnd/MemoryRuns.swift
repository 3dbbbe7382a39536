import Foundation
import HaulTesting
import Testing

/// A body is not kept in memory.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct MemoryRuns {
  private static let length: Int64 = 192 << 20

  /// The program's peak memory so far, in bytes.
  private func peak(_ run: CommandRun) throws -> Int64 {
    let text = try String(contentsOfFile: "/proc/\(run.pid)/status", encoding: .utf8)
    let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
    return try #require(Int64(line.filter(\.isNumber))) << 10
  }

  @Test(arguments: [1, 4])
  func `From the first MiB of 192 to the last, the memory grows by less than a third of them`(
    connections: Int
  ) async throws {
    let large = CommandFixture.file(length: Self.length, Fault(.stall(after: 1 << 20)))
    // Keeps the program alive after the end of the large download.
    let other = CommandFixture.file("/other", Fault(.stall(after: 1 << 20)))
    try await CommandFixture.with(large, other) { fixture in
      let addresses = ["/file.bin", "/other"].map { fixture.server.url($0) }
      let run = try await CommandRun(
        ["get", "--json", "-x", "\(connections)"] + addresses, in: fixture.directory,
        environment: Self.sanitized)
      try await fixture.server.waitForHeld("/file.bin", count: connections)
      let before = try peak(run)
      fixture.server.setFaults("/file.bin", [])
      fixture.server.release("/file.bin")
      try await run.reach("the large one had ended") { output, _ in
        output.contains(#""finished""#)
      }
      let growth = try peak(run) - before
      fixture.server.release("/other")
      let result = await run.end()
      #expect(result.status == 0, "\(result.errors)")
      #expect(growth < Self.length / 3, "it grew by \(growth >> 20) MiB")
      try fixture.expectWhole(length: Self.length)
    }
  }

  /// Freed memory that the address sanitizer keeps does not count.
  private static let sanitized: [String: String] = {
    let given = ProcessInfo.processInfo.environment["ASAN_OPTIONS"].map { "\($0):" } ?? ""
    return ["ASAN_OPTIONS": "\(given)quarantine_size_mb=1"]
  }()
}
