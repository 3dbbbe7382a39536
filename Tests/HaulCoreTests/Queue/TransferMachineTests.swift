import HaulCore
import Testing

/// Every possible state of a member, with every possible input.
@Suite struct TransferMachineTests {
  private typealias Command = TransferMachine.Command
  private typealias Effect = TransferMachine.Effect
  private typealias RunEndKind = TransferMachine.RunEndKind

  private static let ends: [TransferMachine.State: TransferResult.State] = [
    .completed: .completed, .failed: .failed, .cancelled: .cancelled,
  ]

  @Test func `Every state is reached`() {
    let met = Set(MachineStep.worlds.map(\.before.state))
    let plain: Set<TransferMachine.State> = [
      .queued, .running, .paused, .failed, .completed, .cancelled, .removed,
    ]
    let intents = TransferMachine.Intent.allCases.map(TransferMachine.State.stopping)
    #expect(met == plain.union(intents))
  }

  // Found by the simulation: a member opened as cancelled, retried, and cancelled again was stored
  // as cancelled too early. A crash then left its bytes, and its end was not reported.
  @Test(arguments: [TransferMachine.Command.cancel, .cancelKeepingBytes, .pause])
  func `The stored state of a stopping member is never the state it was opened in`(
    command: TransferMachine.Command
  ) {
    var storedState = StoredState()
    storedState.hasRun = true
    storedState.status = command == .pause ? .paused : .cancelled
    storedState.desired = command == .pause ? .paused : .cancelled
    var machine = TransferMachine(storedState)
    _ = machine.handle(command == .pause ? .resume : .retry)
    _ = machine.granted()
    _ = machine.handle(command)
    machine.write(into: &storedState)
    #expect(TransferMachine(storedState).state == machine.state)
    #expect(machine.state != .running)
  }

  @Test func `A refused or redundant command changes nothing`() {
    for step in MachineStep.all {
      if case .done = step.outcome { continue }
      #expect(step.before.machine == step.after.machine, "\(step)")
    }
  }

  @Test func `Repeating a command changes nothing more`() {
    for step in MachineStep.all where step.command != nil {
      var twice = step.after
      let second = twice.apply(step.input)
      #expect(twice == step.after, "\(step)")
      switch (step.outcome, second) {
      case (.refused(let first), .refused(let second)): #expect(first == second, "\(step)")
      case (.refused, _), (_, .refused): Issue.record("\(step)")
      case (_, .done(let effects)):
        let calls: [TransferMachine.Effect] = [
          .startNow, .force, .endWait(beyondLimits: false), .endWait(beyondLimits: true),
        ]
        #expect(Set(effects).isSubset(of: calls), "\(step)")
      default: break
      }
    }
  }

  @Test func `A member never runs twice at once, and every awaited run exists`() {
    for step in MachineStep.worlds {
      let isAwaited = step.before.state == .running || step.before.isStopping
      #expect((step.before.activity != .none) == isAwaited, "\(step.path)")
    }
    for step in MachineStep.all where step.input == .granted {
      #expect(step.before.state == .queued && step.before.activity == .none, "\(step)")
      #expect(step.after.state == .running, "\(step)")
    }
  }

  @Test func `A repeated or unexpected end is ignored`() {
    for step in MachineStep.worlds where step.before.activity == .none {
      for end in RunEndKind.allCases {
        var machine = step.before.machine
        check(machine.ended(end), is: [])
        #expect(machine == step.before.machine, "\(step.path), ended \(end)")
      }
    }
  }

  @Test func `Only a running member is stopped, and by the first order that requires it`() {
    for step in MachineStep.all {
      let stops = step.effects.count { if case .stop = $0 { true } else { false } }
      #expect(stops == 0 || step.before.activity == .run && step.after.isStopping, "\(step)")
      if step.before.state == .running, step.after.isStopping, step.input != .reopened {
        #expect(stops == 1, "\(step)")
      }
    }
  }

  @Test func `Every stop completes, however the run ends`() {
    for step in MachineStep.worlds where step.before.isStopping {
      for end in RunEndKind.allCases where step.before.canEnd(end) {
        let after = step.before.after(.ended(end))
        #expect(!after.isStopping || after.activity == .discard, "\(step.path), ended \(end)")
        #expect(!step.before.settled(end).isStopping, "\(step.path), ended \(end)")
      }
    }
  }

  @Test func `A member is scheduled exactly while it waits for a slot`() {
    for step in MachineStep.all where step.input != .granted && step.input != .reopened {
      let (waited, waits) = (step.before.state == .queued, step.after.state == .queued)
      #expect(step.effects.count { $0 == .enqueue } == (!waited && waits ? 1 : 0), "\(step)")
      #expect(step.effects.count { $0 == .dequeue } == (waited && !waits ? 1 : 0), "\(step)")
      let hurries = step.effects.contains(.startNow) || step.effects.contains(.force)
      #expect(!hurries || waits || step.after.state == .stopping(.requeue), "\(step)")
    }
  }

  @Test func `Each end is reported once, with its kind`() {
    for step in MachineStep.all {
      let reported = step.effects.compactMap {
        if case .reportEnd(let end) = $0 { end } else { nil }
      }
      let (before, after) = (step.before.state, step.after.state)
      if before == after {
        #expect(reported == [], "\(step)")
      } else if let end = Self.ends[after] {
        #expect(reported == [end], "\(step)")
      } else if after == .removed {
        #expect(reported.count == (step.before.reported == nil ? 1 : 0), "\(step)")
      } else {
        #expect(reported == [], "\(step)")
      }
    }
  }

  @Test func `Paused is reported when it applies, and resumed when a command requeues the member`()
  {
    for step in MachineStep.all {
      let (before, after) = (step.before.state, step.after.state)
      let isPaused = before != .paused && after == .paused
      #expect(step.effects.count { $0 == .reportPaused } == (isPaused ? 1 : 0), "\(step)")
      let isResumed = after == .queued && (before == .paused || Self.ends[before] != nil)
      #expect(step.effects.count { $0 == .reportResumed } == (isResumed ? 1 : 0), "\(step)")
    }
  }

  @Test func `Only cancel and remove delete bytes`() {
    for step in MachineStep.all {
      guard step.effects.contains(.discard) || step.effects.contains(.stop(deletingBytes: true))
      else { continue }
      switch step.input {
      case .command(.cancel), .command(.remove): break
      case .ended, .reopened:
        #expect([.stopping(.cancel), .stopping(.remove)].contains(step.after.state), "\(step)")
      default: Issue.record("\(step)")
      }
    }
  }

  @Test func `After a restart nothing runs, and every accepted command is carried out`() {
    for step in MachineStep.all where step.input == .reopened {
      let wanted: TransferMachine.State =
        switch step.before.state {
        case .running, .stopping(.requeue): .queued
        case .stopping(.pause): .paused
        case .stopping(.cancelKeepingBytes): .cancelled
        case let state: state
        }
      #expect(step.after.state == wanted, "\(step)")
      #expect(step.after.machine.hasRun == step.before.machine.hasRun, "\(step)")
      // A run that had to discard the old bytes may not have done so.
      let restartsFromZero =
        step.before.machine.restartsFromZero
        || step.before.activity == .run && step.before.startedOver
      #expect(step.after.machine.restartsFromZero == restartsFromZero, "\(step)")
    }
  }
}
