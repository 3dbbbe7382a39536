import HaulControl
import HaulCore
import HaulDaemon
import HaulKit
import HaulTesting
import Testing

/// Programs about notices.
@Suite(.timeLimit(.minutes(10))) struct NoticeProgramTests {
  private let notice = Notice(
    id: "n", number: 1, kind: .dropped, name: "", time: 0, title: "", text: "")

  private func failure(
    _ arguments: [String], clock: ManualClock = ManualClock()
  ) async -> String? {
    do {
      try await NoticeProgram(
        arguments, environment: ["PATH": "/usr/bin:/bin"], io: BlockingIO(), clock: clock
      ).run(about: notice)
      return nil
    } catch {
      return error.reason
    }
  }

  @Test func `code 0 is a success; another code and a missing program are reported`() async {
    #expect(await failure(["true"]) == nil)
    #expect(await failure(["false"]) == "false ended with exit code 1")
    #expect(await failure(["no-such-program"])?.contains("No such file") == true)
    #expect(await failure(["sh", "-c", "echo why >&2; exit 3"])?.contains("why") == true)
  }

  @Test func `one that does not end is killed, with what it started`() async throws {
    let clock = ManualClock()
    async let reason = failure(["sh", "-c", "sleep 1000 & sleep 1000"], clock: clock)
    try await until { clock.sleeperCount > 0 }
    clock.advance(by: NoticeProgram.deadline)
    #expect(await reason == "sh did not end within 30 s and was killed")
  }
}
