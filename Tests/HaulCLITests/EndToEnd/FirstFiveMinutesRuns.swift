import Foundation
import HaulTesting
import Testing

/// Types the commands of docs/first-five-minutes.md in a terminal, in their order, and compares the
/// last screen and the exit status with the page's. The files are shorter, and numbers are masked;
/// the moments before the end are not compared. `make first-five-minutes` records the page again.
@Suite(.timeLimit(.minutes(10)))
struct FirstFiveMinutesRuns {
  private struct Command {
    let text: String
    /// The columns of the terminal; the names of files say where it is narrow.
    let width: Int
    var isInterrupted = false
    var lines: [String]
    var status: Int32 = 0

    init(_ block: DocumentPage.Block) {
      let width = block.lines[0].firstMatch(of: /-[od] (40|80)[. ]/).flatMap { Int($0.1) } ?? 100
      let joined = FirstFiveMinutesRuns.joined(block.lines, width)
      (self.width, text, lines) = (width, String(joined[0].dropFirst(2)), Array(joined.dropFirst()))
      if lines.dropLast().last == "$ echo $?" {
        status = lines.last.flatMap { Int32($0) } ?? -1
        lines.removeLast(2)
      }
      isInterrupted = block.before.hasPrefix("Ctrl-C, and the screen is:")
    }
  }

  private static let files = ["big.iso", "photos.zip", "music.tar", "notes.pdf", "movie.mkv"]
  private static let length: Int64 = 8 << 20
  private static let held = ["/photos.zip", "/music.tar", "/movie.mkv", "/notes.pdf"]

  private static var resources: [FaultScript.Resource] {
    var stream = CommandFixture.file("/stream.log", length: 1 << 20, Fault(.chunked()))
    stream.acceptRanges = .none
    return files.map { CommandFixture.file("/\($0)", length: $0 == "big.iso" ? length : 1 << 20) }
      + [
        stream, CommandFixture.file("/private.pdf", .status(401)),
        CommandFixture.file("/busy.pdf", length: 1000, .retryLater(seconds: 1, times: 1)),
      ]
  }

  /// The commands of the page. The full disk needs a mount (`FullDiskRuns` has one), and a host
  /// that does not exist needs a name server.
  private static func commands() throws -> [Command] {
    var commands: [Command] = []
    for block in try DocumentPage("docs/first-five-minutes.md").blocks {
      if block.section == "A full disk" || block.lines[0].contains("nowhere.invalid") { continue }
      let command = Command(block)
      let isLater = command.isInterrupted || block.before.hasPrefix("At the end the screen is:")
      if isLater { #expect(commands.popLast()?.text == command.text) }
      commands.append(command)
    }
    return commands
  }

  @Test func `Every command ends as the page shows`() async throws {
    let commands = try Self.commands()
    #expect(commands.count > 45 && commands.count { $0.isInterrupted } == 2)
    try await DaemonFixture.with(Self.resources) { (fixture) async throws in
      // Beside the other files of the home directory, which `ls` would show.
      try FileManager.default.createDirectory(
        atPath: fixture.work.path("work"), withIntermediateDirectories: false)
      try FileManager.default.createSymbolicLink(
        atPath: fixture.work.path("work/haul"), withDestinationPath: CommandRun.executable.path)
      // The server holds some files, on a slow machine for longer than usual.
      try fixture.write("idle-timeout = 10m\n", to: ".config/haul/haul.conf")
      for command in commands { try await run(command, in: fixture) }
    }
  }

  private func run(_ command: Command, in fixture: DaemonFixture) async throws {
    let server = fixture.work.server
    func real(_ text: String) -> String {
      text.replacing("http://127.0.0.1:8000", with: server.origin)
    }
    let isMany = command.text.hasPrefix("./haul get -j 16 ")
    switch command.text {
    case "cat list.txt":
      try fixture.write(real(command.lines.joined(separator: "\n") + "\n"), to: "work/list.txt")
    case let text where text.hasPrefix("./haul add -x 2 ") || command.isInterrupted || isMany:
      for path in Self.held { server.setFaults(path, [Fault(.stall(after: 300_000))]) }
    case "./haul unsuspend": release(server)
    default: break
    }
    let digest = SeededContent.sha256Hex(seed: CommandFixture.seed, length: Self.length)
    let isWrong = command.status != 0
    let text = real(command.text).replacing(/[0-9a-f]{64}/) { _ in
      isWrong ? String(digest.reversed()) : digest
    }
    let run = try await TerminalRun(
      // Ctrl-C must reach the program, and not a shell around it.
      ["-c", command.isInterrupted ? "exec \(text)" : text], in: fixture.work.path("work"),
      width: command.width, height: 200,
      environment: fixture.environment.merging(["HOME": fixture.work.directory]) { $1 },
      program: "/bin/sh")
    if command.isInterrupted {
      // On the screen: only what changes is written.
      try await run.reach("'\(text)' showed progress of movie.mkv") { bytes in
        var screen = TerminalScreen(width: command.width, height: 200)
        try? screen.feed(bytes)  // the end of a sequence may be missing yet
        return screen.lines.contains { $0.contains(/movie\.mkv.*[1-9]\d?%/) }
      }
      run.send(SIGINT)
    } else if isMany {
      // All four must have begun before the first one ends: then no file has their name.
      try await server.waitForHeld("/notes.pdf", count: 4)
      release(server)
    }
    let status = await run.end()
    var screen = TerminalScreen(width: command.width, height: 200)
    try screen.feed(run.bytes)
    let shown = Self.masked(Self.joined(screen.lines, command.width))
    #expect(shown == Self.masked(command.lines), "\(command.text): \(screen.lines)")
    #expect(status == command.status, "\(command.text): \(screen.lines)")
    if command.text.hasPrefix("./haul get"), command.isInterrupted { release(server) }
  }

  private func release(_ server: FaultServer) {
    for path in Self.held {
      server.setFaults(path, [])
      server.release(path)
    }
  }

  /// Joins lines that fill the terminal with the next ones: it has folded them.
  private static func joined(_ lines: [String], _ width: Int) -> [String] {
    var (all, isFull) = ([String](), false)
    for line in lines {
      if isFull { all[all.count - 1] += line } else { all.append(line) }
      isFull = !line.isEmpty && line.count % width == 0
    }
    return all
  }

  /// Without ids, numbers, units, spaces, and the states of transfers in the list. Sorted, because
  /// files end in any order.
  private static func masked(_ lines: [String]) -> [String] {
    lines.map { line in
      line.replacing(/\b[0-9A-HJKMNP-TV-Z]{8}\b/, with: "0")
        .replacing(/\ +(running(:\ connecting)?|queued|paused)(\ .*)?$/, with: "listed")
        .replacing(/[0-9a-f]{64}/, with: "0").replacing(/\d+(\.\d+)?/, with: "0")
        .replacing(/\b[KMG]iB\b/, with: "B").replacing("retrying at once", with: "retrying in 0 s")
        .filter { $0 != " " }
    }.sorted()
  }
}
