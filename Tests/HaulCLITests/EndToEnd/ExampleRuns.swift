import Foundation
import HaulTestSupport
import Testing

/// The programs of Examples, as a reader of them runs them.
@Suite("The examples run", .timeLimit(.minutes(2)))
struct ExampleRuns {
  private func program(_ name: String) -> String {
    CommandRun.executable.deletingLastPathComponent().appending(path: name).path
  }

  private func run(_ name: String, _ arguments: [String], in place: Workplace) async throws
    -> CommandResult
  {
    try await CommandRun(arguments, in: place.directory, program: program(name)).end()
  }

  @Test("MultiFileTransfer: percent and end of each file, one end of all, and the empty queue")
  func many() async throws {
    try await Workplace.with(Workplace.file("/a"), Workplace.file("/b"), Workplace.file("/c")) {
      place in
      place.server.setFaults("/c", [Fault(.status(404))])
      let urls = ["/a", "/b", "/c"].map { place.server.url($0) }
      let result = try await run("MultiFileTransfer", ["files"] + urls, in: place)
      #expect(result.status == 0, "\(result.errors)")
      let lines = result.output.split(separator: "\n").map(String.init)
      #expect(lines.contains("\(urls[0]): completed"))
      #expect(lines.contains { $0.hasPrefix("\(urls[2]): failed, ") })
      #expect(lines.count { $0 == "all have ended: 2 of 3 completed" } == 1)
      #expect(lines.contains { $0.hasPrefix("the queue is empty: ") })
      for name in ["a", "b"] {
        let bytes = try Data(contentsOf: URL(filePath: "\(place.directory)/files/\(name)"))
        #expect(bytes.count == Workplace.length)
      }
    }
  }

  @Test("InstallChain: download, then unpack, then the word on the main actor")
  func chain() async throws {
    try await Workplace.with(Workplace.file("/archive", length: 3000)) { place in
      let result = try await run(
        "InstallChain", [place.directory, place.server.url("/archive")], in: place)
      #expect(result.output == "upgrade complete\n", "\(result.errors)")
      #expect(FileManager.default.fileExists(atPath: "\(place.directory)/part-2"))
      place.server.setFaults("/archive", [Fault(.status(404))])
      let failed = try await run(
        "InstallChain", [place.directory, place.server.url("/archive")], in: place)
      #expect(failed.output.hasPrefix("not upgraded: "))
      #expect(failed.status == 0)
    }
  }

  @Test("DurableQueue: killed, started again, it goes on")
  func durable() async throws {
    try await Workplace.with(Workplace.file("/a"), Workplace.file("/b")) { place in
      place.server.setFaults("/a", [Fault(.stall(after: 100_000))])
      let words = [place.directory, place.server.url("/a"), place.server.url("/b")]
      let first = try await CommandRun(words, in: place.directory, program: program("DurableQueue"))
      try await place.server.waitForHeld("/a")
      try await place.server.waitUntil { $0.requests("/b").contains { $0.outcome == .completed } }
      first.send(SIGKILL)
      #expect(await first.end().status == 128 + SIGKILL)
      place.server.setFaults("/a", [])
      let second = try await run("DurableQueue", words, in: place)
      #expect(second.status == 0, "\(second.errors)")
      #expect(second.output.hasPrefix("2 in the list\n"))
      for name in ["a", "b"] {
        let bytes = try Data(contentsOf: URL(filePath: "\(place.directory)/\(name)"))
        #expect(bytes == Data(SeededContent(seed: Workplace.seed).bytes(at: 0, count: bytes.count)))
        #expect(bytes.count == Workplace.length)
      }
    }
  }

  @Test(
    "SlotMachine: each press starts what stands and stops what spins, however fast it is pressed")
  func slots() async throws {
    try await Workplace.with { place in
      // Seven presses at once, then the end.
      let words = ["-c", "printf xxxxxxxq | '\(program("SlotMachine"))'"]
      let result = try await CommandRun(words, in: place.directory, program: "/bin/sh").end()
      #expect(result.status == 0, "\(result.errors)")
      let labels = result.output.split(separator: "\n").map {
        $0.contains("spinning:") ? "spins" : "stands"
      }
      let changes = labels.reduce(into: [String]()) { if $0.last != $1 { $0.append($1) } }
      #expect(changes == ["spins", "stands", "spins", "stands", "spins", "stands", "spins"])
    }
  }
}
