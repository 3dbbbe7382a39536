import Foundation
import HaulTesting
import Testing

/// The programs of Examples, as a reader of them runs them.
@Suite("The examples run", .timeLimit(.minutes(2)))
struct ExampleRuns {
  func program(_ name: String) -> String {
    CommandRun.executable.deletingLastPathComponent().appending(path: name).path
  }

  private func run(_ name: String, _ arguments: [String], in place: Workplace) async throws
    -> CommandResult
  {
    try await CommandRun(arguments, in: place.directory, program: program(name)).end()
  }

  @Test("MultiFileTransfer: percent and end of each file, one end of all, and the empty queue")
  func many() async throws {
    // Slow enough for some of its percent to be told.
    let slow = Workplace.file("/a").with { $0.rate = 1 << 20 }
    // An entity tag alone: no date tells that the file is there already.
    let tagged = Workplace.file("/b").with { $0.lastModified = nil }
    try await Workplace.with(slow, tagged, Workplace.file("/c")) { place in
      place.server.setFaults("/c", [Fault(.status(404))])
      let urls = ["/a", "/b", "/c"].map { place.server.url($0) }
      let result = try await run("MultiFileTransfer", ["files"] + urls, in: place)
      #expect(result.status == 0, "\(result.errors)")
      let lines = result.output.split(separator: "\n").map(String.init)
      #expect(lines.contains("\(urls[0]): completed"))
      #expect(lines.contains { $0.hasPrefix("\(urls[2]): failed, ") })
      #expect(lines.count { $0 == "all have ended: 2 of 3 completed" } == 1)
      #expect(lines.contains { $0.hasPrefix("the queue is empty: ") })
      let percents = urls.map { Self.percents(of: $0, in: lines) }
      let rising = percents[0].prefix { $0 < 100 }
      #expect(rising.contains { $0 > 0 }, "\(lines)")
      #expect(zip(rising, rising.dropFirst()).allSatisfy { $0 < $1 }, "\(lines)")
      #expect(percents[0].contains(100) && percents[1].contains(100), "\(lines)")
      #expect(percents[2] == [], "\(lines)")
      for name in ["a", "b"] {
        let bytes = try Data(contentsOf: URL(filePath: "\(place.directory)/files/\(name)"))
        #expect(bytes.count == Workplace.length)
      }
      // The second time nothing was fetched.
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: place.path("files")).sorted()
          == ["a", "b"])
      for path in ["/a", "/b"] {
        let sent = place.server.snapshot.requests.filter { $0.path == path }.map(\.bodyBytesSent)
        #expect(sent.reduce(0, +) < Workplace.length * 3 / 2)
      }
    }
  }

  /// The numbers of lines as `ADDRESS: 40 %`.
  private static func percents(of url: String, in lines: [String]) -> [Int] {
    lines.compactMap { line in
      guard line.hasPrefix("\(url): "), line.hasSuffix(" %") else { return nil }
      return Int(line.dropFirst(url.count + 2).dropLast(2))
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

  @Test("DurableQueue: killed, started again, it goes on from its bytes")
  func durable() async throws {
    try await Workplace.with(Workplace.file("/a"), Workplace.file("/b")) { place in
      // One connection brings what is worth a claim, and no other brings anything.
      place.server.setFaults(
        "/a",
        [
          Fault(.stall(after: 2 << 20), when: .request(1)),
          Fault(.stallBeforeHead, when: .init(firstRequest: 2)),
        ])
      let words = [place.directory, place.server.url("/a"), place.server.url("/b")]
      let first = try await CommandRun(words, in: place.directory, program: program("DurableQueue"))
      try await place.server.waitForHeld("/a")
      try await place.server.waitUntil { $0.requests("/b").contains { $0.outcome == .completed } }
      // What no claim is there for has to come once more.
      while !Self.hasClaim(place.path("a.haul.journal")) {
        try Task.checkCancellation()
        await Task.yield()
      }
      first.send(SIGKILL)
      #expect(await first.end().status == 128 + SIGKILL)
      place.server.setFaults("/a", [])
      let second = try await run("DurableQueue", words, in: place)
      #expect(second.status == 0, "\(second.errors)")
      #expect(second.output.hasPrefix("2 in the list\n"))
      let reused = try #require(Self.reused("a", second, in: place), "\(second.output)")
      #expect(reused >= 1 << 20, "\(second.output)")
      for name in ["a", "b"] {
        let bytes = try Data(contentsOf: URL(filePath: "\(place.directory)/\(name)"))
        #expect(bytes == Data(SeededContent(seed: Workplace.seed).bytes(at: 0, count: bytes.count)))
        #expect(bytes.count == Workplace.length)
      }
    }
  }

  /// Of a line as `PATH: 3145728 bytes, 1048576 of them from before`; nil when there is none.
  private static func reused(
    _ name: String, _ result: CommandResult, in place: Workplace
  ) -> Int? {
    let line = result.output.split(separator: "\n").first {
      $0.hasPrefix("\(place.path(name)): \(Workplace.length) bytes, ")
    }
    let words = line?.split(separator: " ").suffix(5) ?? []
    return words.first.flatMap { Int($0) }
  }

  /// Whether a journal says of some bytes that they are there; see docs/journal-format.md.
  private static func hasClaim(_ path: String) -> Bool {
    let journal = FileManager.default.contents(atPath: path) ?? Data()
    var rest = Array(journal)[...].dropFirst(16)
    while rest.count >= 9 {
      let length = rest.dropFirst().prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
      if rest.first == 3, rest.count >= 9 + length { return true }
      rest = rest.dropFirst(9 + length)
    }
    return false
  }
}
