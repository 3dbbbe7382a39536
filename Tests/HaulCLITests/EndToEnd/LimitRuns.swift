import Foundation
import HaulTesting
import Testing

/// Within system limits it works, or says in one line why not.
@Suite(
  .serialized,
  .timeLimit(.minutes(10)))
struct LimitRuns {
  /// Runs the command after these shell commands.
  private func run(
    _ shell: String, _ arguments: [String], _ fixture: CommandFixture
  ) async throws -> CommandResult {
    let command = ["-c", "\(shell); exec \"$0\" \"$@\"", CommandRun.executable.path] + arguments
    return await (try await CommandRun(command, in: fixture.directory, program: "/bin/sh")).end()
  }

  @Test(
    arguments: [("ulimit -n 10", "ulimit -n"), ("ulimit -v 400000", "ulimit -v")], ["get", "probe"])
  func `Too few open files, or too little memory`(
    limit: (shell: String, hint: String), command: String
  ) async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let result = try await run(limit.shell, [command, fixture.server.url("/file.bin")], fixture)
      #expect(result.status == 1, "\(result.errors)")
      #expect(result.errorLines.count == 1)
      #expect(result.errors.contains(limit.hint))
      #expect(fixture.server.snapshot.requests.isEmpty)
    }
  }

  @Test(arguments: ["ulimit -n 48", "ulimit -v 1500000"])
  func `Few open files and little memory`(limit: String) async throws {
    try await CommandFixture.with(CommandFixture.file(length: 8 << 20)) { fixture in
      let result = try await run(
        limit, ["get", "-x", "16", "--min-split", "64K", fixture.server.url("/file.bin")], fixture)
      #expect(result.status == 0, "\(result.errors)")
      try fixture.expectWhole(length: 8 << 20)
    }
  }

  @Test func `A limit on file size is an error with its reason`() async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let result = try await run(
        "ulimit -f 100", ["get", "--json", fixture.server.url("/file.bin")], fixture)
      #expect(result.status == 1)
      #expect(try result.events().codes == ["too-large"])
      #expect(result.failures.count == 1)
      #expect(result.errors.contains("ulimit -f"))
    }
  }
}
