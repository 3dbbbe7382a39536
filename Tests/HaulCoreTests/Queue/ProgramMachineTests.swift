import HaulCore
import Testing

/// The signals of a program, and the meaning of its end.
@Suite struct ProgramMachineTests {
  private typealias Order = ProgramMachine.Order

  private let now = Instant()
  private let failed = ProgramEnd(status: .exited(1))
  private let done = ProgramEnd(status: .exited(0))

  private func machine(isIdempotent: Bool, _ orders: Order...) -> ProgramMachine {
    var machine = ProgramMachine(isIdempotent: isIdempotent)
    let begins = machine.begin()
    #expect(begins)
    for order in orders { _ = machine.handle(order, at: now) }
    return machine
  }

  @Test func `A program without an order ends by its exit code`() {
    for isIdempotent in [true, false] {
      let machine = machine(isIdempotent: isIdempotent)
      #expect(machine.outcome(of: done, name: "p") == .completed)
      #expect(
        machine.outcome(of: failed, name: "p")
          == .failed(TransferError(.io, "p ended with exit code 1")))
    }
  }

  @Test func `A cancel ends a program, and a pause ends an idempotent one`() {
    for (order, isIdempotent) in [(Order.cancel, false), (.cancel, true), (.pause, true)] {
      var machine = machine(isIdempotent: isIdempotent)
      #expect(
        machine.handle(order, at: now) == .terminate(thenKillAt: now + ProgramMachine.grace))
      // Not twice.
      let again = machine.handle(order, at: now + .seconds(1))
      #expect(again == nil)
      // Then its exit status does not matter.
      for end in [done, failed, ProgramEnd(status: .signalled(15))] {
        #expect(machine.outcome(of: end, name: "p") == (order == .cancel ? .cancelled : .paused))
      }
    }
  }

  @Test func `A pause does not stop a non-idempotent program, but a later cancel does`() {
    var machine = machine(isIdempotent: false)
    let pause = machine.handle(.pause, at: now)
    #expect(pause == nil)
    #expect(machine.outcome(of: done, name: "p") == .completed)
    let cancel = machine.handle(.cancel, at: now)
    #expect(cancel == .terminate(thenKillAt: now + ProgramMachine.grace))
    #expect(machine.outcome(of: failed, name: "p") == .cancelled)
  }

  @Test func `A cancel overrides an earlier pause`() {
    let machine = machine(isIdempotent: true, .pause, .cancel)
    #expect(machine.outcome(of: ProgramEnd(status: .signalled(15)), name: "p") == .cancelled)
  }

  @Test func `A force stop grants half a second, or kills a program that was already signalled`() {
    var deaf = machine(isIdempotent: false, .pause)
    let last = deaf.handle(.forceStop, at: now)
    #expect(last == .terminate(thenKillAt: now + ProgramMachine.lastGrace))
    var stopping = machine(isIdempotent: true, .pause)
    let kill = stopping.handle(.forceStop, at: now)
    #expect(kill == .kill)
  }

  @Test func `A program that is paused or cancelled before its start does not start`() {
    for order in [Order.pause, .cancel] {
      var machine = ProgramMachine(isIdempotent: false)
      let action = machine.handle(order, at: now)
      let begins = machine.begin()
      #expect(action == nil && !begins)
      #expect(machine.outcomeIfNotStarted == (order == .cancel ? .cancelled : .paused))
    }
  }

  @Test func `An error names the program, its exit status and its last lines of output`() {
    var end = ProgramEnd(status: .signalled(9))
    #expect(end.error("p")?.message == "p was ended by signal 9 (SIGKILL)")
    end.status = .signalled(64)
    #expect(end.error("p")?.message == "p was ended by signal 64")
    end.output.append(Array("out\n\n  \n".utf8))
    #expect(end.error("p")?.message == "p was ended by signal 64; it said: out")
    end.errors.append(Array("1\n2\r\n\u{9b}3\n 4 \n".utf8))
    #expect(end.error("p")?.message == "p was ended by signal 64; it said: 2 / \\u{9b}3 / 4")
    end.errors.append([UInt8](repeating: 0x78, count: 100_000))
    #expect((end.error("p")?.message.count ?? .max) < 500)
    let name = ProgramCommand.name(of: ["/opt/a\u{1b}b/p\u{1b}q", "secret"])
    #expect(name == "p\\x1bq")
  }

  @Test(arguments: [1, 7, 8191, 8192, 8193, 70_000])
  func `A tail keeps exactly the last bytes, for any chunk size`(size: Int) {
    var (tail, all) = (ByteTail(), [UInt8]())
    while all.count < 70_000 {
      let bytes = (0..<size).map { UInt8(truncatingIfNeeded: all.count &* 31 &+ $0) }
      tail.append(bytes)
      all += bytes
      if tail.bytes.count > ByteTail.limit { break }
    }
    #expect(Array(tail.bytes) == Array(all.suffix(ByteTail.limit)))
  }
}
