import FoundationEssentials
import HaulCore
import HaulFiles
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// Programs of steps that are paused, cancelled, or outlive the manager.
@Suite(.timeLimit(.minutes(2))) struct ProgramStopTests {
  /// Runs until a signal ends it.
  private static let endless = "echo $$ >> started; exec sleep 300"

  @Test func `A cancelled program ends with all that it started, also with what ignores it`()
    async throws
  {
    let clock = ManualClock()
    try await ProgramPlace.with(clock: clock) { place in
      let step = try await place.add(
        #"""
        (trap "" TERM; exec sh -c 'echo $$ > deaf; exec sleep 300') &
        (exec sh -c 'echo $$ > child; exec sleep 300') &
        echo $$ > leader; wait
        """#)
      var processes: [Int32] = []
      for name in ["leader", "child", "deaf"] { processes.append(try await place.process(name)) }
      #expect(processes.allSatisfy(runs))
      try await step.cancel()
      // When the command returns, not later; and no time has passed.
      #expect(!processes.contains(where: runs))
      #expect(await step.summary?.state == .cancelled)
      #expect(await code(step) == .cancelled)
      #expect(clock.sleeping == 0)
    }
  }

  @Test
  func `A program that does not heed it is killed after four seconds, and keeps its slot`()
    async throws
  {
    let clock = ManualClock()
    try await ProgramPlace.with(active: 1, clock: clock) { place in
      let step = try await place.add(#"trap "" TERM; echo $$ > pid; exec sleep 300"#)
      let next = try await place.add("exit 0")
      let pid = try await place.process("pid")
      async let cancelling = step.cancel()
      try await until { clock.wakeUps == [ProgramMachine.grace] }
      #expect(runs(pid))
      #expect(await next.summary?.state == .queued)
      clock.move(by: ProgramMachine.grace)
      try await cancelling
      #expect(!runs(pid))
      #expect(await step.summary?.state == .cancelled)
      #expect(try await next.result.state == .completed)
    }
  }

  @Test func `A cancel that keeps bytes ends a program too`() async throws {
    try await ProgramPlace.with { place in
      let step = try await place.add(Self.endless)
      let pid = try await place.process("started")
      try await step.cancel(keepingBytes: true)
      #expect(!runs(pid))
      #expect(await step.summary?.state == .cancelled)
    }
  }

  @Test func `It does not wait with a pause that the program does not heed`() async throws {
    try await ProgramPlace.with { place in
      let step = try await place.add(Self.endless)
      let pid = try await place.process("started")
      async let pausing = step.pause()
      try await until { await step.summary?.state != .running }
      try await step.cancel(keepingBytes: true)
      _ = try await pausing
      #expect(!runs(pid))
      #expect(await step.summary?.state == .cancelled)
    }
  }

  @Test func `One that may run again is ended for a pause, and begins again`() async throws {
    try await ProgramPlace.with { place in
      let step = try await place.add(
        "echo $$ >> started; [ $(wc -l < started) -gt 1 ] && exit 0; exec sleep 300",
        isIdempotent: true)
      let pid = try await place.process("started")
      try await step.pause()
      #expect(!runs(pid))
      #expect(await step.summary?.state == .paused)
      try await step.resume()
      #expect(try await step.result.state == .completed)
      #expect(place.lines("started").count == 2)
    }
  }

  @Test func `One that must not run twice runs to its end when it is paused`() async throws {
    try await ProgramPlace.with { place in
      try place.makeGate("gate")
      let step = try await place.add("echo $$ > pid; cat gate; echo done > done")
      let pid = try await place.process("pid")
      async let pausing = step.pause()
      try await until { await step.summary?.state != .running }
      #expect(runs(pid))
      try await place.open(gate: "gate")
      _ = try await pausing
      #expect(try await step.result.state == .completed)
      #expect(place.lines("done") == ["done"])
    }
  }

  @Test(arguments: [true, false])
  func `At the end of a manager a program is ended: interrupted, or run again`(
    isIdempotent: Bool
  ) async throws {
    let (clock, store) = (ManualClock(), MemoryStore())
    let directory = ScratchPlace.make()
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let text = "echo $$ >> started; [ $(wc -l < started) -gt 1 ] && exit 0; exec sleep 300"
    var pid: Int32 = 0
    try await ProgramPlace.with(clock: clock, store: store, in: directory) { place in
      _ = try await place.add(text, isIdempotent: isIdempotent)
      pid = try await place.process("started")
      async let end: Void = place.manager.shutdown()
      if !isIdempotent {
        try await until { clock.wakeUps == [.seconds(4)] }
        #expect(runs(pid))
        clock.move(by: .seconds(4))
      }
      await end
      #expect(!runs(pid) && clock.sleeping == 0)
    }
    #expect(try await store.open().members.map(\.storedState.isUnderWay) == [!isIdempotent])
    try await ProgramPlace.with(store: store, in: directory) { place in
      await place.manager.waitUntilEmpty()
      let result = try await store.records(place.manager.summaries().map(\.id)).first?.result
      #expect(result?.error?.code == (isIdempotent ? nil : .interrupted))
      #expect(place.lines("started").count == (isIdempotent ? 2 : 1))
    }
  }

  @Test func `At the end of a manager a program that heeds nothing is killed`() async throws {
    let clock = ManualClock()
    try await ProgramPlace.with(clock: clock) { place in
      _ = try await place.add(#"trap "" TERM; echo $$ > pid; exec sleep 300"#)
      let pid = try await place.process("pid")
      async let end: Void = place.manager.shutdown()
      try await until { clock.wakeUps == [.seconds(4)] }
      clock.move(by: .seconds(4))
      try await until { clock.wakeUps == [.milliseconds(4500), .seconds(5)] }
      clock.move(by: ProgramMachine.lastGrace)
      await end
      #expect(!runs(pid) && clock.sleeping == 0)
    }
  }

  @Test(arguments: [true, false])
  func `Case 21: what a dead manager left running is ended before anything runs again`(
    isIdempotent: Bool
  ) async throws {
    let store = ReplayStore()
    try await ProgramPlace.with(store: store) { place in
      let step = try await place.add(
        #"""
        for pid in $(cat started); do [ -e /proc/$pid/exe ] && echo $pid >> overlap; done
        echo $$ >> started; [ $(wc -l < started) -gt 1 ] && exit 0
        (exec sh -c 'echo $$ > child; exec sleep 300') & wait
        """#, isIdempotent: isIdempotent)
      let processes = [try await place.process("started"), try await place.process("child")]
      // As if this manager had been killed: what it stored is all that is there.
      let dead = await store.afterCrash()
      try await ProgramPlace.with(store: dead, in: place.directory) { later in
        #expect(!processes.contains(where: runs))
        await later.manager.waitUntilEmpty()
        let result = try await dead.records([step.id]).first?.result
        #expect(result?.error?.code == (isIdempotent ? nil : .interrupted))
        #expect(later.lines("started").count == (isIdempotent ? 2 : 1))
        #expect(later.text("overlap") == nil)
      }
    }
  }

  /// What a stored process is not.
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
  func `Case 21: a process that only has the number of a stored one is left alone`(
    another: Another
  ) async throws {
    let id = try #require(TransferID(bits: 7))
    let process = try LinuxPrograms().prepare(ProgramCommand(id: id, words: ["sleep", "300"]))
    try process.begin()
    let store = try await store(of: id, another.identity(process.identity))
    try await ProgramPlace.with(store: store) { await $0.manager.waitUntilEmpty() }
    #expect(runs(process.identity.pid) == (another != .none))
    process.send(.kill)
    #expect(await process.end().status == .signalled(another == .none ? 15 : 9))
  }

  @Test(arguments: [true, false])
  func `Case 21: what is left of a program that has ended itself is known by the transfer's id`(
    isItsOwn: Bool
  ) async throws {
    let directory = ScratchPlace.make()
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let (id, other) = (try #require(TransferID(bits: 7)), try #require(TransferID(bits: 8)))
    let text = "(exec sh -c 'echo $$ > child; exec sleep 300') & wait"
    let process = try LinuxPrograms().prepare(
      ProgramCommand(id: isItsOwn ? id : other, words: ["sh", "-c", text], directory: directory))
    try process.begin()
    let store = try await store(of: id, process.identity)
    try await ProgramPlace.with(store: MemoryStore(), in: directory) { place in
      let child = try await place.process("child")
      defer { kill(child, SIGKILL) }
      // As the next manager finds it: it is nobody's child there.
      kill(process.identity.pid, SIGKILL)
      var status: Int32 = 0
      #expect(waitpid(process.identity.pid, &status, 0) == process.identity.pid)
      #expect(runs(child))
      try await ProgramPlace.with(store: store) { await $0.manager.waitUntilEmpty() }
      #expect(runs(child) != isItsOwn)
    }
  }

  @Test func `Case 21: what cannot be ended is not run beside itself`() async throws {
    let clock = ManualClock()
    let programs = UnendingPrograms(clock: clock)
    let id = try #require(TransferID(bits: 7))
    let store = try await store(of: id, ProcessIdentity(pid: 1, start: 1, boot: "this"))
    try await ProgramPlace.with(clock: clock, store: store, programs: programs) { place in
      await place.manager.waitUntilEmpty()
      let error = try await store.records([id]).first?.result?.error
      #expect(error?.code == .interrupted)
      #expect(error?.message.contains("could not be ended") == true)
      #expect(programs.signals.withLockedValue { $0 } == [.terminate, .kill])
    }
  }

  /// What was stored of a step that may run again when its program ran.
  private func store(of id: TransferID, _ process: ProcessIdentity) async throws -> MemoryStore {
    let store = MemoryStore()
    var request = StepRequest(.program(["true"]))
    request.isIdempotent = true
    var storedState = StoredState()
    (storedState.hasRun, storedState.isUnderWay) = (true, true)
    var change = StoreChange()
    change.added = [
      TransferRecord(id: id, request: TransferRequest(.step(request)), storedState: storedState)
    ]
    change.programs = [StoredProgram(id: id, process: process)]
    try await store.commit(change)
    return store
  }

  @Test func `A program that waits to begin ends with the one who prepared it`() throws {
    let process = try LinuxPrograms().prepare(
      ProgramCommand(id: try #require(TransferID(bits: 9)), words: ["sleep", "300"]))
    #expect(runs(process.identity.pid))
    process.abandon()
    #expect(!runs(process.identity.pid))
  }
}

/// Of which none ends, whatever it is told. Each look at one takes a second.
private struct UnendingPrograms: Programs {
  let clock: ManualClock
  let signals = NIOLockedValueBox<[ProgramSignal]>([])

  init(clock: ManualClock) { self.clock = clock }

  func prepare(_ command: ProgramCommand) throws(TransferError) -> any ProgramProcess {
    throw TransferError(.internal, "it runs beside itself")
  }

  func send(_ signal: ProgramSignal, to program: StoredProgram) {
    signals.withLockedValue { $0.append(signal) }
  }

  func isGone(_ program: StoredProgram) -> Bool {
    clock.move(by: .seconds(1))
    return false
  }
}
