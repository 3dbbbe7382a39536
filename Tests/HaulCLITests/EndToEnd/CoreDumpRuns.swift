import Foundation
import HaulLibC
import HaulTesting
import Testing

/// The memory of a process holds credentials, and a core dump is a copy of it.
@Suite(.timeLimit(.minutes(10)))
struct CoreDumpRuns {
  /// The largest limit that is allowed here, for the command.
  private static let allowing = #"ulimit -S -c "$(ulimit -H -c)"; "#

  /// Runs shell commands with `haul` as `$0`.
  private func shell(_ script: String, _ fixture: DaemonFixture) async throws -> CommandRun {
    try await CommandRun(
      ["-c", Self.allowing + script, CommandRun.executable.path], in: fixture.work.directory,
      environment: fixture.environment, program: "/bin/sh")
  }

  private func softLimit(of pid: Int32) throws -> Substring? {
    let limits = try String(contentsOfFile: "/proc/\(pid)/limits", encoding: .utf8)
    let line = limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") }
    return line?.dropFirst("Max core file size".count).split(separator: " ").first
  }

  @Test func `No command dumps its memory, neither to a file nor to a program`() async throws {
    let resource = CommandFixture.file("/a", Fault(.stall(after: CommandFixture.stallOffset)))
    try await DaemonFixture.with(resource) { (fixture) async throws in
      let url = fixture.work.server.url("/a")
      let run = try await shell(
        #"sh -c 'echo $$ >pid; exec "$0" get -x 1 '\#(url) "$0"; echo "$?""#, fixture)
      try await fixture.work.server.waitForHeld("/a")
      let text = try String(contentsOfFile: fixture.work.path("pid"), encoding: .utf8)
      let pid = try #require(Int32(text.trimmingCharacters(in: .newlines)))
      // A limit of 1 also forbids a dump to a program, which 0 allows.
      #expect(try softLimit(of: pid) == "1")
      // SIGSEGV would be caught by the backtracer of a toolchain. This one dumps by default too.
      #expect(kill(pid, SIGXCPU) == 0)
      let result = await run.end()
      #expect(result.output.contains("\(128 + SIGXCPU)"), "\(result.errors)")
      #expect(!result.errors.contains("core dumped"), "\(result.errors)")
    }
  }

  @Test func `A program that the background daemon starts has the limit of before`() async throws {
    try await DaemonFixture.with { (fixture) async throws in
      let script = #"ulimit -c >before; "$0" add --run -- sh -c "ulimit -c >$PWD/program""#
      let adding = await (try shell(script, fixture)).end()
      #expect(adding.status == 0, "\(adding.errors)")
      let id = adding.output.trimmingCharacters(in: .newlines)
      #expect(try await fixture.haul("wait", id).status == 0)
      let limits = try ["before", "program"].map {
        try String(contentsOfFile: fixture.work.path($0), encoding: .utf8)
      }
      #expect(limits[0] == limits[1])
      let status = try await fixture.haul("daemon", "status")
      let pid = try #require(status.output.firstMatch(of: /pid (\d+)/).flatMap { Int32($0.1) })
      #expect(try softLimit(of: pid) == "1")
    }
  }
}
