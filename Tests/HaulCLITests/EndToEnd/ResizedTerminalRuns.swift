import Foundation
import HaulTesting
import Testing

/// Bars on a terminal.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct ResizedTerminalRuns {
  private static let erasure: [UInt8] = Array("\r\u{1B}[J".utf8)

  /// Where the last erasure before `end` begins; a frame follows it.
  private func frameStart(in bytes: [UInt8], before end: Int) -> Int? {
    var start = end - Self.erasure.count
    while start >= 0 {
      if bytes[start...].starts(with: Self.erasure) { return start }
      start -= 1
    }
    return nil
  }

  /// The last complete frame, which ends by moving the cursor up again.
  private func lastFrame(_ bytes: [UInt8]) -> String? {
    guard let end = bytes.lastIndex(of: UInt8(ascii: "A")),
      let start = frameStart(in: bytes, before: end)
    else { return nil }
    return String(decoding: bytes[start...end], as: UTF8.self)
  }

  @Test func `a resize leaves no debris, and lines that do not fit are counted`() async throws {
    let paths = (0..<12).map { "/file\($0).bin" }
    let resources = paths.map {
      FaultScript.Resource(
        $0, seed: CommandFixture.seed, length: 3 << 20, faults: [Fault(.stall(after: 1 << 20))])
    }
    try await withFaultServer(FaultScript(resources)) { server in
      let directory = FileManager.default.temporaryDirectory
        .appending(path: "haul-run-\(UUID().uuidString)").path
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
      // Files that a test leaves in the temporary directory are no failure.
      defer { try? FileManager.default.removeItem(atPath: directory) }
      let run = try await TerminalRun(
        ["get", "-x", "1", "-j", "8", "--max-per-host", "8"] + paths.map { server.url($0) },
        in: directory, width: 100, height: 24)
      try await run.reach("eight bars") { bytes in
        guard let frame = lastFrame(bytes) else { return false }
        return frame.split(separator: "33%").count == 9 && frame.contains("… 4 more waiting")
      }
      run.resize(width: 30, height: 6)
      let rest = "… 5 more running, 4 waiting"
      try await run.reach("a frame of the new size") {
        lastFrame($0)?.contains(rest) == true
      }
      let bytes = run.bytes
      // Frames before the first one of the new size were drawn for the old size.
      let end = try #require(bytes.lastIndex(of: UInt8(ascii: "A")))
      let mark = try #require(bytes.firstRange(of: Array("more running".utf8)))
      let change = try #require(frameStart(in: bytes, before: mark.lowerBound))
      var screen = TerminalScreen(width: 100, height: 24)
      try screen.feed(bytes[..<change])
      #expect(screen.visible.count == 10)
      screen.resize(width: 30, height: 6)
      try screen.feed(bytes[change...end])
      #expect(screen.lines.count == 5, "\(screen.lines)")
      #expect(screen.lines.prefix(3).allSatisfy { $0.contains("33%") }, "\(screen.lines)")
      #expect(screen.lines.dropFirst(3).first == rest)
      #expect(screen.lines.last?.hasPrefix("0 of 12 files") == true)
      run.send(SIGINT)
      #expect(await run.end() == 130)
    }
  }
}
