import Foundation
import HaulControl
import HaulCore
import HaulDaemon
import HaulKit
import HaulTesting
import Logging
import Testing

/// Notices that can be clicked.
@Suite(.timeLimit(.minutes(10))) struct DesktopClicksTests {
  private let notice = Notice(
    id: "n", number: 1, kind: .dropped, name: "", time: 0, title: "", text: "")
  private let clock = ManualClock()

  private func clicks() -> DesktopClicks {
    DesktopClicks([:], io: BlockingIO(), clock: clock, logger: Logger(label: "test"))
  }

  private func failure(_ script: String, _ clicks: DesktopClicks) async -> String? {
    let program = NoticeProgram(
      ["sh", "-c", script], environment: ["PATH": "/usr/bin:/bin"], io: BlockingIO(), clock: clock)
    do {
      return try await clicks.show(notice, program) ? nil : "late"
    } catch {
      return error.reason
    }
  }

  @Test
  func `an id means that the notice is shown, whatever follows; 0 or a failure do not`() async {
    let clicks = clicks()
    #expect(await failure("echo 7; exec sleep 1000", clicks) == nil)
    #expect(await failure("echo 7; echo no actions here >&2; exit 1", clicks) == nil)
    #expect(
      await failure("echo no desktop >&2; echo 0; exec sleep 1000", clicks)?.contains("no desktop")
        == true)
    #expect(await failure("echo 0", clicks) == "the desktop has refused the notice")
    #expect(await failure("exit 3", clicks) == "sh ended with exit code 3")
    await clicks.close()
  }

  @Test func `one that does not say in time whether it is shown is killed`() async throws {
    let clicks = clicks()
    async let reason = failure("sleep 1000", clicks)
    try await until { clock.sleeperCount >= 2 }
    clock.advance(by: NoticeProgram.deadline)
    #expect(await reason == "late")
    await clicks.close()
  }

  @Test func `only the newest wait, and none remains after the end`() async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let clicks = clicks()
    var pids: [pid_t] = []
    for number in 0...DesktopClicks.limit {
      let file = directory.appending(path: "\(number)")
      #expect(await failure("echo $$ >'\(file.path)'; echo 7; exec sleep 1000", clicks) == nil)
      let text = try String(contentsOf: file, encoding: .utf8)
      pids.append(try #require(pid_t(text.trimmingCharacters(in: .newlines))))
    }
    // A zombie would still have its pid.
    #expect(pids.map { kill($0, 0) == 0 } == [false] + pids.dropFirst().map { _ in true })
    await clicks.close()
    #expect(pids.allSatisfy { kill($0, 0) != 0 })
  }

  @Test func `the arguments of a clickable notice, and what the program prints`() {
    let plain = DesktopMessage(notice, hasSound: true).arguments
    let clickable = DesktopMessage(notice, hasSound: true, isClickable: true).arguments
    #expect(clickable.filter { !plain.contains($0) } == ["--print-id", "--action=default=Show"])
    #expect(clickable.suffix(3) == plain.suffix(3), "no option after the dashes")
    func output(_ text: String) -> [Bool?] {
      var tail = ByteTail()
      tail.append(text.utf8)
      let output = DesktopMessage.Output(tail)
      return [output.isShown, output.isClicked]
    }
    #expect(output("") == [nil, false])
    #expect(output("4") == [nil, false], "the line may go on")
    #expect(output("0\n") == [false, false])
    #expect(output("42\n") == [true, false])
    #expect(output("42\ndefault\n") == [true, true])
    #expect(output("default\n") == [nil, false])
  }
}
