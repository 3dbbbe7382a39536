import FoundationEssentials
import HaulCore
import HaulFiles
import HaulKit
import HaulLibC
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Programs of steps that are paused, cancelled, or outlive the manager.
@Suite(.timeLimit(.minutes(10))) struct ProgramStopTests {
  /// Runs until a signal ends it.
  private static let endless = "echo $$ >> started; exec sleep 300"

  @Test
  func `A cancelled program ends with all its processes, including those that ignore signals`()
    async throws
  {
    let clock = ManualClock()
    try await ProgramFixture.with(clock: clock) { fixture in
      let step = try await fixture.add(
        #"""
        (trap "" TERM; exec sh -c 'echo $$ > deaf; exec sleep 300') &
        (exec sh -c 'echo $$ > child; exec sleep 300') &
        echo $$ > leader; wait
        """#)
      var processes: [Int32] = []
      for name in ["leader", "child", "deaf"] { processes.append(try await fixture.process(name)) }
      #expect(processes.allSatisfy(runs))
      try await step.cancel()
      // When the command returns, not later, and without time passing.
      #expect(!processes.contains(where: runs))
      #expect(await step.summary?.state == .cancelled)
      #expect(await code(step) == .cancelled)
      #expect(clock.sleeperCount == 0)
    }
  }

  @Test func `A program that ignores SIGTERM is killed after four seconds, and keeps its slot`()
    async throws
  {
    let clock = ManualClock()
    try await ProgramFixture.with(active: 1, clock: clock) { fixture in
      let step = try await fixture.add(#"trap "" TERM; echo $$ > pid; exec sleep 300"#)
      let next = try await fixture.add("exit 0")
      let pid = try await fixture.process("pid")
      async let cancelling = step.cancel()
      try await until { clock.wakeUps == [ProgramMachine.grace] }
      #expect(runs(pid))
      #expect(await next.summary?.state == .queued)
      clock.advance(by: ProgramMachine.grace)
      try await cancelling
      #expect(!runs(pid))
      #expect(await step.summary?.state == .cancelled)
      #expect(try await next.result.state == .completed)
    }
  }

  @Test func `A cancel that keeps bytes ends a program too`() async throws {
    try await ProgramFixture.with { fixture in
      let step = try await fixture.add(Self.endless)
      let pid = try await fixture.process("started")
      try await step.cancel(keepingBytes: true)
      #expect(!runs(pid))
      #expect(await step.summary?.state == .cancelled)
    }
  }

  @Test func `A cancel during the pause of a program takes effect at once`() async throws {
    try await ProgramFixture.with { fixture in
      let step = try await fixture.add(Self.endless)
      let pid = try await fixture.process("started")
      async let pausing = step.pause()
      try await until { await step.summary?.state != .running }
      try await step.cancel(keepingBytes: true)
      _ = try await pausing
      #expect(!runs(pid))
      #expect(await step.summary?.state == .cancelled)
    }
  }

  @Test func `A pause ends an idempotent program, and a resume runs it again`() async throws {
    try await ProgramFixture.with { fixture in
      let step = try await fixture.add(
        "echo $$ >> started; [ $(wc -l < started) -gt 1 ] && exit 0; exec sleep 300",
        isIdempotent: true)
      let pid = try await fixture.process("started")
      try await step.pause()
      #expect(!runs(pid))
      #expect(await step.summary?.state == .paused)
      try await step.resume()
      #expect(try await step.result.state == .completed)
      #expect(fixture.lines("started").count == 2)
    }
  }

  @Test func `A paused program that is not idempotent runs to its end`() async throws {
    try await ProgramFixture.with { fixture in
      try fixture.makeGate("gate")
      let step = try await fixture.add("echo $$ > pid; cat gate; echo done > done")
      let pid = try await fixture.process("pid")
      async let pausing = step.pause()
      try await until { await step.summary?.state != .running }
      #expect(runs(pid))
      try await fixture.open(gate: "gate")
      _ = try await pausing
      #expect(try await step.result.state == .completed)
      #expect(fixture.lines("done") == ["done"])
    }
  }

  @Test(arguments: [true, false])
  func `A shutdown ends a program, which is then interrupted or run again`(
    isIdempotent: Bool
  ) async throws {
    let (clock, store) = (ManualClock(), MemoryStore())
    let directory = ScratchFixture.make()
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let text = "echo $$ >> started; [ $(wc -l < started) -gt 1 ] && exit 0; exec sleep 300"
    var pid: Int32 = 0
    try await ProgramFixture.with(clock: clock, store: store, in: directory) { fixture in
      _ = try await fixture.add(text, isIdempotent: isIdempotent)
      pid = try await fixture.process("started")
      async let end: Void = fixture.manager.shutdown()
      if !isIdempotent {
        try await until { clock.wakeUps == [.seconds(4)] }
        #expect(runs(pid))
        clock.advance(by: .seconds(4))
      }
      await end
      #expect(!runs(pid) && clock.sleeperCount == 0)
    }
    #expect(try await store.open().members.map(\.storedState.wasRunning) == [!isIdempotent])
    try await ProgramFixture.with(store: store, in: directory) { fixture in
      await fixture.manager.waitUntilEmpty()
      let result = try await store.records(fixture.manager.summaries().map(\.id)).first?.result
      #expect(result?.error?.code == (isIdempotent ? nil : .interrupted))
      #expect(fixture.lines("started").count == (isIdempotent ? 2 : 1))
    }
  }

  @Test func `A shutdown kills a program that ignores all signals`() async throws {
    let clock = ManualClock()
    try await ProgramFixture.with(clock: clock) { fixture in
      _ = try await fixture.add(#"trap "" TERM; echo $$ > pid; exec sleep 300"#)
      let pid = try await fixture.process("pid")
      async let end: Void = fixture.manager.shutdown()
      try await until { clock.wakeUps == [.seconds(4)] }
      clock.advance(by: .seconds(4))
      try await until { clock.wakeUps == [.milliseconds(4500), .seconds(5)] }
      clock.advance(by: ProgramMachine.lastGrace)
      await end
      #expect(!runs(pid) && clock.sleeperCount == 0)
    }
  }

  @Test(arguments: [true, false])
  func `A program of a dead manager is ended before anything runs again`(
    isIdempotent: Bool
  ) async throws {
    let store = ReplayStore()
    try await ProgramFixture.with(store: store) { fixture in
      let step = try await fixture.add(
        #"""
        for pid in $(cat started); do [ -e /proc/$pid/exe ] && echo $pid >> overlap; done
        echo $$ >> started; [ $(wc -l < started) -gt 1 ] && exit 0
        (exec sh -c 'echo $$ > child; exec sleep 300') & wait
        """#, isIdempotent: isIdempotent)
      let processes = [try await fixture.process("started"), try await fixture.process("child")]
      // As if this manager had been killed: only what it stored remains.
      let dead = await store.afterCrash()
      try await ProgramFixture.with(store: dead, in: fixture.directory) { later in
        #expect(!processes.contains(where: runs))
        await later.manager.waitUntilEmpty()
        let result = try await dead.records([step.id]).first?.result
        #expect(result?.error?.code == (isIdempotent ? nil : .interrupted))
        #expect(later.lines("started").count == (isIdempotent ? 2 : 1))
        #expect(later.text("overlap") == nil)
      }
    }
  }

  /// How another process differs from a stored one.
  enum Another: CaseIterable, Sendable {
    case start, boot, none

    func identity(_ process: ProcessIdentity) -> ProcessIdentity {
      var other = process
      switch self {
      case .start: other.start += 1
      case .boot: other.boot = "another"
      case .none: break
      }
      return other
    }
  }

  @Test(arguments: Another.allCases)
  func `A process that only shares the pid of a stored one is not signalled`(
    another: Another
  ) async throws {
    let id = try #require(TransferID(bits: 7))
    let process = try LinuxPrograms().prepare(ProgramCommand(id: id, arguments: ["sleep", "300"]))
    try process.begin()
    let store = try await store(of: id, another.identity(process.identity))
    try await ProgramFixture.with(store: store) { await $0.manager.waitUntilEmpty() }
    #expect(runs(process.identity.pid) == (another != .none))
    process.send(.kill)
    #expect(await process.waitForExit().status == .signalled(another == .none ? 15 : 9))
  }

  @Test(arguments: [true, false])
  func `Children of an ended program are found by the transfer's id`(
    isItsOwn: Bool
  ) async throws {
    let directory = ScratchFixture.make()
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let (id, other) = (try #require(TransferID(bits: 7)), try #require(TransferID(bits: 8)))
    let text = "(exec sh -c 'echo $$ > child; exec sleep 300') & wait"
    let process = try LinuxPrograms().prepare(
      ProgramCommand(
        id: isItsOwn ? id : other, arguments: ["sh", "-c", text], directory: directory))
    try process.begin()
    let store = try await store(of: id, process.identity)
    try await ProgramFixture.with(store: MemoryStore(), in: directory) { fixture in
      let child = try await fixture.process("child")
      defer { kill(child, SIGKILL) }
      // As the next manager finds it: not a child of its process.
      kill(process.identity.pid, SIGKILL)
      var status: Int32 = 0
      #expect(waitpid(process.identity.pid, &status, 0) == process.identity.pid)
      #expect(runs(child))
      try await ProgramFixture.with(store: store) { await $0.manager.waitUntilEmpty() }
      #expect(runs(child) != isItsOwn)
    }
  }

  @Test func `A program that cannot be ended is not run a second time`() async throws {
    let clock = ManualClock()
    let programs = UnstoppablePrograms(clock: clock)
    let id = try #require(TransferID(bits: 7))
    let store = try await store(of: id, ProcessIdentity(pid: 1, start: 1, boot: "this"))
    try await ProgramFixture.with(clock: clock, store: store, programs: programs) { fixture in
      await fixture.manager.waitUntilEmpty()
      let error = try await store.records([id]).first?.result?.error
      #expect(error?.code == .interrupted)
      #expect(error?.message.contains("could not be ended") == true)
      #expect(programs.signals.withLockedValue { $0 } == [.terminate, .kill])
    }
  }

  /// A store with a step that may run again and its running program.
  private func store(of id: TransferID, _ process: ProcessIdentity) async throws -> MemoryStore {
    let store = MemoryStore()
    var request = StepRequest(.program(["true"]))
    request.isIdempotent = true
    var storedState = StoredState()
    (storedState.hasRun, storedState.wasRunning) = (true, true)
    var change = StoreChange()
    change.added = [
      TransferRecord(id: id, request: TransferRequest(.step(request)), storedState: storedState)
    ]
    change.programs = [StoredProcess(id: id, process: process)]
    try await store.commit(change)
    return store
  }

  @Test func `A prepared program ends when it is abandoned`() throws {
    let process = try LinuxPrograms().prepare(
      ProgramCommand(id: try #require(TransferID(bits: 9)), arguments: ["sleep", "300"]))
    #expect(runs(process.identity.pid))
    process.abandon()
    #expect(!runs(process.identity.pid))
  }
}

/// Programs that never end, whatever signal they get. Each check of one takes a second.
private struct UnstoppablePrograms: Programs {
  let clock: ManualClock
  let signals = NIOLockedValueBox<[ProgramSignal]>([])

  init(clock: ManualClock) { self.clock = clock }

  func prepare(_ command: ProgramCommand) throws(TransferError) -> any ProgramProcess {
    throw TransferError(.internal, "it runs beside itself")
  }

  func send(_ signal: ProgramSignal, to program: StoredProcess) {
    signals.withLockedValue { $0.append(signal) }
  }

  func isGone(_ program: StoredProcess) -> Bool {
    clock.advance(by: .seconds(1))
    return false
  }
}
