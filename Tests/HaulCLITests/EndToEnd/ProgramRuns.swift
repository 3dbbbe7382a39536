import Foundation
import HaulTestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// Programs of steps whose manager was killed.
@Suite("Programs that a killed manager left running", .timeLimit(.minutes(2)))
struct ProgramRuns {
  /// The first time it stays, with a process of its own; later ones tell which of the earlier ones run yet, and end.
  private static let script = #"""
    for pid in $(cat "$1.processes"); do [ -e /proc/$pid/exe ] && echo $pid >> "$1.overlap"; done
    if [ -e "$1.processes" ]; then echo again >> "$1.runs"; exit 0; fi
    echo $$ > "$1.new"
    (exec sh -c 'trap "" TERM; echo $$ >> "$1.new"; mv "$1.new" "$1.processes"; exec sleep 300' sh "$1") &
    wait
    """#

  @Test("Case 21: are ended before their steps run again, or are told interrupted")
  func killed() async throws {
    let directory = FileManager.default.temporaryDirectory
      .appending(path: "haul-programs-\(UUID().uuidString)").resolvingSymlinksInPath().path
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    func lines(_ name: String) -> [String] {
      let data = FileManager.default.contents(atPath: "\(directory)/\(name)") ?? Data()
      return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    }
    func drill() async throws -> CommandRun {
      let program = CommandRun.executable.deletingLastPathComponent().appending(path: "haul-drill")
      return try await CommandRun(
        [directory, "http://127.0.0.1", "--script", Self.script], in: directory,
        program: program.path)
    }
    let first = try await drill()
    while lines("again.processes").count < 2 || lines("once.processes").count < 2 {
      try Task.checkCancellation()
      await Task.yield()
    }
    let processes = try ["again", "once"].flatMap { lines("\($0).processes") }
      .map { try #require(Int32($0)) }
    defer { for pid in processes { kill(pid, SIGKILL) } }
    first.send(SIGKILL)
    #expect(await first.end().status == 128 + SIGKILL)
    // They know nothing of it.
    #expect(processes.count == 4 && processes.allSatisfy(Self.runs))
    let second = await (try drill()).end()
    #expect(second.status == 0, "\(second.output)\(second.errors)")
    #expect(!processes.contains(where: Self.runs))
    #expect(lines("again.runs") == ["again"] && lines("once.runs") == [])
    #expect(lines("again.overlap") == [])
    let ends = second.output.split(separator: "\n").filter { $0.hasPrefix("ends ") }
    #expect(ends == ["ends again completed default", "ends once failed default"])
  }

  /// Of one that has ended there is no program, even while its status is kept.
  private static func runs(_ pid: Int32) -> Bool {
    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/exe")) != nil
  }
}
