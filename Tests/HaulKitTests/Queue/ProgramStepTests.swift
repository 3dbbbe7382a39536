import FoundationEssentials
import HaulCore
import HaulFiles
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Steps that run programs.
@Suite(.timeLimit(.minutes(10))) struct ProgramStepTests {
  @Test func `Arguments reach a program unchanged, without a shell`() async throws {
    let words = [
      "a b", "it's \"quoted\"", "two\nlines", "", "äöü 漢字 🧵", "$HOME `id` $(id) ; * \\", "-n",
    ]
    try await ProgramFixture.with { fixture in
      let step = try await fixture.manager.add(
        .step(
          program: ["sh", "-c", #"printf '%s\0' "$@" > got"#, "script"] + words,
          in: fixture.directory))
      #expect(try await step.result.state == .completed)
      #expect(fixture.text("got") == words.map { "\($0)\0" }.joined())
    }
  }

  @Test func `A program has empty input, three descriptors and the environment without secrets`()
    async throws
  {
    let variables = [
      "PATH": "/usr/bin:/bin", "KEPT": "1", "HAUL_PASSWORD": "secret-password",
    ]
    try await ProgramFixture.with(programs: LinuxPrograms(environment: variables)) { fixture in
      // The fourth is the one with which it lists them.
      let step = try await fixture.add("cat > input; ls /proc/self/fd > files; env > variables")
      _ = try await step.result
      #expect(fixture.text("input") == nil)
      #expect(fixture.lines("files") == ["0", "1", "2", "3"])
      let found = fixture.lines("variables")
      #expect(found.contains("KEPT=1") && found.contains("HAUL_TRANSFER_ID=\(step.id)"))
      #expect(!found.contains { $0.contains("secret-password") })
    }
  }

  @Test func `A nonzero exit code is a failure, with the last lines of output in the error`()
    async throws
  {
    try await ProgramFixture.with { fixture in
      let step = try await fixture.add(
        #"echo shown; echo one >&2; echo two >&2; echo three >&2; printf '\033[31mred' >&2; exit 3"#,
        "secret-argument")
      let error = try await fixture.failure(of: step)
      #expect(error.code == .io)
      #expect(
        error.message == #"sh ended with exit code 3; it said: two / three / \x1b[31mred"#)
      // Without error output, the last standard output is used.
      let quiet = try await fixture.failure(of: fixture.add("echo shown; exit 4"))
      #expect(quiet.message == "sh ended with exit code 4; it said: shown")
      let silent = try await fixture.failure(of: fixture.add("exit 255"))
      #expect(silent.message == "sh ended with exit code 255")
    }
  }

  @Test func `A program that is ended by a signal has failed`() async throws {
    try await ProgramFixture.with { fixture in
      let error = try await fixture.failure(of: fixture.add("kill -9 $$"))
      #expect(error.message == "sh was ended by signal 9 (SIGKILL)")
      #expect(error.code == .io)
    }
  }

  @Test func `A command that cannot run fails at once with the reason`() async throws {
    try await ProgramFixture.with { fixture in
      func message(_ words: [String], in directory: String? = nil) async throws -> String {
        let step = try await fixture.manager.add(.step(program: words, in: directory))
        return try await fixture.failure(of: step).message
      }
      #expect(
        try await message(["no-such-program-of-haul"])
          == "cannot run no-such-program-of-haul: No such file or directory; "
          + "check its name and that it is installed")
      let plain = "\(fixture.directory)/plain"
      try Data("echo".utf8).write(to: URL(filePath: plain))
      #expect(try await message([plain]).hasPrefix("cannot run plain: Permission denied"))
      try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: plain)
      #expect(try await message([plain]).hasPrefix("cannot run plain: Exec format error"))
      #expect(
        try await message(["sh"], in: "\(fixture.directory)/none")
          == "cannot run sh in \(fixture.directory)/none: No such file or directory")
      #expect(try await message([]).hasPrefix("cannot run a program without a name"))
      #expect(try await message(["sh", "a\0b"]).contains("U+0000"))
    }
  }

  @Test func `All output is read, and only its last bytes are kept`() async throws {
    let command = ProgramCommand(
      id: try #require(TransferID(bits: 1)),
      arguments: ["sh", "-c", "head -c 104857600 /dev/zero | tr '\\0' x; echo end"])
    let process = try LinuxPrograms().prepare(command)
    try process.begin()
    let end = await process.waitForExit()
    #expect(end.status == .exited(0))
    #expect(end.output.bytes.count == ByteTail.limit)
    #expect(end.output.bytes.suffix(5).elementsEqual("xend\n".utf8))
  }

  @Test func `A download, a program and a closure run one after the other`() async throws {
    let size = NIOLockedValueBox<String?>(nil)
    try await QueueFixture.with([.plain("a")], active: 2) { queue in
      let directory = queue.base.directory
      queue.manager.register(step: "read") { context in
        let data = FileManager.default.contents(atPath: "\(directory)/size")
        size.withLockedValue { $0 = data.map { String(decoding: $0, as: UTF8.self) } }
      }
      var download = try queue.request("a")
      download.identifier = "a"
      var program = TransferRequest.step(
        program: ["sh", "-c", "wc -c < a | tr -d ' \\n' > size"], in: directory)
      (program.identifier, program.after) = ("program", ["a"])
      var closure = TransferRequest.step("read")
      closure.after = ["program"]
      let added = try await queue.manager.add([closure, program, download])
      _ = try await added[0].result
      #expect(size.withLockedValue { $0 } == "\(QueueFixture.length)")
      #expect(await queue.states == [.completed, .completed, .completed])
    }
  }

  @Test func `The process is stored before the program's first instruction`() async throws {
    let store = ReplayStore()
    let programs = WatchedPrograms(store: store)
    try await ProgramFixture.with(store: store, programs: programs) { fixture in
      let step = try await fixture.add("echo $$ > pid")
      _ = try await step.result
      let stored = try #require(programs.storedAtBegin.withLockedValue { $0 }.first)
      #expect(stored.id == step.id)
      #expect(fixture.lines("pid") == ["\(stored.process.pid)"])
      #expect(stored.process.start > 0 && !stored.process.boot.isEmpty)
    }
  }

  @Test func `A program whose process cannot be stored does not run`() async throws {
    let store = ReplayStore()
    let programs = WatchedPrograms(store: store, refuses: true)
    try await ProgramFixture.with(store: store, programs: programs) { fixture in
      let error = try await fixture.failure(of: fixture.add("echo $$ > pid"))
      #expect(error.code == .diskFull)
      #expect(fixture.text("pid") == nil)
      #expect(programs.storedAtBegin.withLockedValue { $0 }.isEmpty && store.programs.isEmpty)
    }
  }
}

/// Records what was stored when each program began.
private struct WatchedPrograms: Programs {
  let store: ReplayStore
  /// Whether the store refuses changes from the creation of a process until it is abandoned.
  let refuses: Bool
  let storedAtBegin = NIOLockedValueBox<[StoredProcess]>([])
  private let base = LinuxPrograms()

  init(store: ReplayStore, refuses: Bool = false) {
    (self.store, self.refuses) = (store, refuses)
  }

  func prepare(_ command: ProgramCommand) throws(TransferError) -> any ProgramProcess {
    if refuses { store.refuse(TransferError(.diskFull, "no space is left")) }
    return Process(base: try base.prepare(command), watch: self)
  }

  func send(_ signal: ProgramSignal, to program: StoredProcess) { base.send(signal, to: program) }
  func isGone(_ program: StoredProcess) -> Bool { base.isGone(program) }

  private struct Process: ProgramProcess {
    let base: any ProgramProcess
    let watch: WatchedPrograms

    var identity: ProcessIdentity { base.identity }

    func begin() throws(TransferError) {
      let stored = watch.store.programs.filter { $0.process == identity }
      watch.storedAtBegin.withLockedValue { $0 += stored }
      try base.begin()
    }

    func abandon() {
      base.abandon()
      watch.store.refuse(nil)
    }

    func send(_ signal: ProgramSignal) { base.send(signal) }
    func waitForExit() async -> ProgramEnd { await base.waitForExit() }
  }
}
