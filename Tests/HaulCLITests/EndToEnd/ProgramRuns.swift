import Foundation
import HaulLibC
import HaulTesting
import Testing

/// Programs of steps whose manager was killed.
@Suite(.timeLimit(.minutes(10)))
struct ProgramRuns {
  /// The first run stays, with its own child process. Later runs report which of the earlier ones
  /// still run, and end.
  private static let staying = #"""
    for pid in $(cat "$1.processes"); do [ -e /proc/$pid/exe ] && echo $pid >> "$1.overlap"; done
    if [ -e "$1.processes" ]; then echo again >> "$1.runs"; exit 0; fi
    echo $$ > "$1.new"
    (exec sh -c 'trap "" TERM; echo $$ >> "$1.new"; mv "$1.new" "$1.processes"; exec sleep 300' \
      sh "$1") &
    wait
    """#

  @Test
  func `Case 21: are ended before their steps run again, or are reported as interrupted`()
    async throws
  {
    try await ProgramDirectory.with { fixture in
      let first = try await fixture.drill(Self.staying)
      try await until {
        ["again", "once"].allSatisfy { fixture.lines("\($0).processes").count >= 2 }
      }
      let processes = try ["again", "once"].flatMap { fixture.lines("\($0).processes") }
        .map { try #require(Int32($0)) }
      defer { for pid in processes { kill(pid, SIGKILL) } }
      first.send(SIGKILL)
      #expect(await first.end().status == 128 + SIGKILL)
      // The processes do not notice the kill.
      #expect(processes.count == 4 && processes.allSatisfy(Self.runs))
      let second = await (try fixture.drill(Self.staying)).end()
      #expect(second.status == 0, "\(second.output)\(second.errors)")
      #expect(!processes.contains(where: Self.runs))
      #expect(fixture.lines("again.runs") == ["again"] && fixture.lines("once.runs") == [])
      #expect(fixture.lines("again.overlap") == [])
      #expect(Self.ends(second) == ["again completed", "once failed"])
    }
  }

  /// Reports which of the earlier ones still run, and that it ran.
  private static let passing = #"""
    for pid in $(cat "$1.processes"); do [ -e /proc/$pid/exe ] && echo $pid >> "$1.overlap"; done
    echo $$ >> "$1.processes"
    """#

  @Test
  func `Case 21: never run twice, at once or one after the other, wherever it is killed`()
    async throws
  {
    var reached: Set<String> = []
    let points = ["decided", "storing", "stored", "effectsPerformed"].flatMap { point in
      (2...7).map { "\(point):\($0)" }
    }
    for point in points + ["ended:1", "ended:2", "began:1", "began:2"] {
      try await ProgramDirectory.with { fixture in
        let first = await (try fixture.drill(Self.passing, ["--die-at", point])).end()
        #expect([0, 128 + SIGKILL].contains(first.status), "\(point): \(first.errors)")
        if first.status != 0 { reached.insert(String(point.prefix { $0 != ":" })) }
        let second = await (try fixture.drill(Self.passing)).end()
        #expect(second.status == 0, "\(point): \(second.errors)")
        #expect(fixture.lines("again.overlap") + fixture.lines("once.overlap") == [], "\(point)")
        let (again, once) = (fixture.lines("again.processes"), fixture.lines("once.processes"))
        #expect((1...2).contains(again.count) && once.count <= 1, "\(point): \(again), \(once)")
        let ends = Self.ends(second)
        #expect(ends.first == "again completed" && ends.count == 2, "\(point): \(ends)")
        let isCompleted = ends.last == "once completed"
        #expect(isCompleted ? once.count == 1 : ends.last == "once failed", "\(point): \(ends)")
      }
    }
    #expect(reached == ["decided", "storing", "stored", "effectsPerformed", "ended", "began"])
  }

  /// The final state of each step.
  private static func ends(_ result: CommandResult) -> [String] {
    var ends: [String] = []
    for line in result.output.split(separator: "\n") {
      let words = line.split(separator: " ")
      if words.first == "ends", words.count > 2 { ends.append("\(words[1]) \(words[2])") }
    }
    return ends
  }

  /// An ended process has no program, even before it is reaped.
  private static func runs(_ pid: Int32) -> Bool {
    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/exe")) != nil
  }

  /// The paths of the queue and the programs.
  private struct ProgramDirectory {
    let directory: String

    static func with(_ body: (ProgramDirectory) async throws -> Void) async throws {
      let directory = FileManager.default.temporaryDirectory
        .appending(path: "haul-programs-\(UUID().uuidString)").resolvingSymlinksInPath().path
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: directory) }
      try await body(ProgramDirectory(directory: directory))
    }

    func lines(_ name: String) -> [String] {
      let data = FileManager.default.contents(atPath: "\(directory)/\(name)") ?? Data()
      return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    func drill(_ script: String, _ options: [String] = []) async throws -> CommandRun {
      let program = CommandRun.products.appending(path: "haul-drill")
      return try await CommandRun(
        [directory, "http://127.0.0.1", "--script", script] + options, in: directory,
        program: program.path)
    }
  }
}
