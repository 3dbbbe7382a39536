import Foundation
import HaulTestSupport
import Testing

@Suite("Bars of the real program on a terminal", .serialized, .timeLimit(.minutes(3)))
struct ResizedTerminalRuns {
  /// What the terminal shows after these bytes, that came at these sizes.
  private func screen(_ parts: [(bytes: ArraySlice<UInt8>, width: Int, height: Int)]) throws
    -> TerminalScreen
  {
    var screen = TerminalScreen(width: parts[0].width, height: parts[0].height)
    for part in parts {
      screen.resize(width: part.width, height: part.height)
      try screen.feed(part.bytes)
    }
    return screen
  }

  private func complete(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    // A frame of several lines ends with the way back up.
    guard let end = bytes.lastIndex(of: UInt8(ascii: "A")) else { return nil }
    return bytes[...end]
  }

  @Test("a resize midway leaves no debris, and what does not fit is counted")
  func resized() async throws {
    let paths = (0..<12).map { "/file\($0).bin" }
    let resources = paths.map {
      FaultScript.Resource(
        $0, seed: Workplace.seed, length: 3 << 20, faults: [Fault(.stall(after: 1 << 20))])
    }
    try await withFaultServer(FaultScript(resources)) { server in
      let directory = FileManager.default.temporaryDirectory
        .appending(path: "haul-run-\(UUID().uuidString)").path
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
      // A test's litter in the temporary directory is no failure.
      defer { try? FileManager.default.removeItem(atPath: directory) }
      let run = try await TerminalRun(
        ["get", "-x", "1", "-j", "8", "--max-per-host", "8"] + paths.map { server.url($0) },
        in: directory, width: 100, height: 24)
      try await run.reach("eight bars") { bytes in
        guard let whole = complete(bytes[...]) else { return false }
        let rows = try screen([(whole, 100, 24)]).visible
        return rows.filter { $0.contains("33%") }.count == 8
          && rows.contains("… 4 more waiting") && rows.last?.hasPrefix("0 of 12 files") == true
      }
      let before = complete(run.bytes[...]) ?? []
      run.resize(width: 30, height: 6)
      let written = run.bytes.count
      try await run.reach("a frame of the new size") { bytes in
        guard let whole = complete(bytes[written...]) else { return false }
        let shown = try screen([
          (before, 100, 24), (bytes[before.endIndex..<written], 100, 24), (whole, 30, 6),
        ])
        return shown.lines.count == 5 && shown.lines.last?.hasPrefix("0 of 12 files") == true
          && shown.lines[3] == "… 5 more running, 4 waiting"
          && shown.lines[0...2].allSatisfy { $0.contains("33%") }
      }
      run.send(SIGINT)
      #expect(await run.end() == 130)
    }
  }
}
