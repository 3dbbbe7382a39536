import Foundation
import HaulTesting
import Testing

/// What the terminal is after a password was asked for.
@Suite(.serialized, .timeLimit(.minutes(10))) struct PasswordPromptRuns {
  /// Runs haul in a session of its own with this terminal, and sends it a signal at SIGUSR1. At the
  /// end it prints the status and the modes of the terminal.
  private static let script = """
    signal=$1
    shift
    setsid --ctty --wait "$@" <&1 &
    pid=$!
    trap 'kill -$signal $pid' USR1
    wait $pid
    wait $pid
    echo "status $?"
    stty -a <&1
    """

  @Test(arguments: [("TERM", 143), ("HUP", 129)])
  func `A signal ends it at once, and the terminal shows again what is typed`(
    signal: String, status: Int
  ) async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let run = try await TerminalRun(
        [
          "-c", Self.script, "sh", signal, CommandRun.executable.path, "get", "--user", "me",
          fixture.server.url("/file.bin"),
        ], in: fixture.directory, program: "/bin/sh")
      try await run.reach("the question") { bytes in
        String(decoding: bytes, as: UTF8.self).contains("Password for me: ")
      }
      run.send(SIGUSR1)
      _ = await run.end()
      let text = String(decoding: run.bytes, as: UTF8.self)
      #expect(text.contains("status \(status)"), "\(text)")
      #expect(text.contains(" icanon ") && text.contains(" echo "), "\(text)")
      #expect(!text.contains("-icanon ") && !text.contains("-echo "), "\(text)")
      #expect(fixture.server.snapshot.requests.isEmpty)
    }
  }
}
