import HaulCore
import Testing

/// What a program is told, and what its end means.
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

  @Test func `Without an order its exit code decides`() {
    for isIdempotent in [true, false] {
      let machine = machine(isIdempotent: isIdempotent)
      #expect(machine.outcome(of: done, name: "p") == .completed)
      #expect(
        machine.outcome(of: failed, name: "p")
          == .failed(TransferError(.io, "p ended with exit code 1")))
    }
  }

  @Test func `A cancel ends it, and a pause ends one that may run again`() {
    for (order, isIdempotent) in [(Order.cancel, false), (.cancel, true), (.pause, true)] {
      var machine = machine(isIdempotent: isIdempotent)
      #expect(
        machine.handle(order, at: now) == .terminate(thenKillAt: now + ProgramMachine.grace))
      // Not twice.
      let again = machine.handle(order, at: now + .seconds(1))
      #expect(again == nil)
      // How it takes that is of no interest.
      for end in [done, failed, ProgramEnd(status: .signalled(15))] {
        #expect(machine.outcome(of: end, name: "p") == (order == .cancel ? .cancelled : .paused))
      }
    }
  }

  @Test func `A pause of one that must not run twice changes nothing; a cancel after it does`() {
    var machine = machine(isIdempotent: false)
    let pause = machine.handle(.pause, at: now)
    #expect(pause == nil)
    #expect(machine.outcome(of: done, name: "p") == .completed)
    let cancel = machine.handle(.cancel, at: now)
    #expect(cancel == .terminate(thenKillAt: now + ProgramMachine.grace))
    #expect(machine.outcome(of: failed, name: "p") == .cancelled)
  }

  @Test func `A cancel after a pause that ends it is a cancel`() {
    let machine = machine(isIdempotent: true, .pause, .cancel)
    #expect(machine.outcome(of: ProgramEnd(status: .signalled(15)), name: "p") == .cancelled)
  }

  @Test func `The end of the manager leaves it half a second, or nothing when it was told before`()
  {
    var deaf = machine(isIdempotent: false, .pause)
    let last = deaf.handle(.cutShort, at: now)
    #expect(last == .terminate(thenKillAt: now + ProgramMachine.lastGrace))
    var told = machine(isIdempotent: true, .pause)
    let kill = told.handle(.cutShort, at: now)
    #expect(kill == .kill)
  }

  @Test func `What is ordered before it begins keeps it from beginning`() {
    for order in [Order.pause, .cancel] {
      var machine = ProgramMachine(isIdempotent: false)
      let action = machine.handle(order, at: now)
      let begins = machine.begin()
      #expect(action == nil && !begins)
      #expect(machine.outcomeUnbegun == (order == .cancel ? .cancelled : .paused))
    }
  }

  @Test func `An end is told with a name, a number, and the last lines that are there`() {
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
  func `A tail has the last bytes and no more, however they come`(size: Int) {
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
