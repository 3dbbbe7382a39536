import HaulCore
import Testing

/// What a person expects of each command, in every possible state of a member.
@Suite struct TransferMachineCommandTests {
  private typealias Command = TransferMachine.Command
  private typealias RunEndKind = TransferMachine.RunEndKind
  private typealias State = TransferMachine.State

  /// Each possible world after this command, unless it is refused.
  private func taken(_ command: Command) -> [MachineStep] {
    MachineStep.all.filter { step in
      if case .refused = step.outcome { false } else { step.command == command }
    }
  }

  @Test func `A paused member parks at once or when stopped, and never restarts by itself`() {
    for step in taken(.pause) {
      #expect([.paused, .stopping(.pause)].contains(step.after.state), "\(step)")
      #expect(step.after.settled(.paused).state == .paused, "\(step)")
      #expect(step.after.after(.granted) == step.after, "\(step)")
    }
    let waking: Set<Command> = [.resume, .requeue, .restart, .start, .force]
    for step in MachineStep.all where step.before.state == .paused && step.after.state == .queued {
      #expect(step.command.map(waking.contains) == true, "\(step)")
    }
  }

  @Test func `A resume always takes effect after a pause, however fast it follows`() {
    for step in taken(.pause) {
      let resumed = step.after.after(.command(.resume))
      #expect([.queued, .stopping(.requeue)].contains(resumed.state), "\(step), resume")
      #expect(resumed.settled(.paused).state == .queued, "\(step), resume")
      let again = resumed.after(.command(.pause), .command(.resume))
      #expect(again.settled(.paused).state == .queued, "\(step), resume, pause, resume")
      let paused = resumed.after(.command(.pause))
      #expect(paused.settled(.paused).state == .paused, "\(step), resume, pause")
    }
  }

  @Test func `A resume changes nothing for a queued or running member`() {
    for step in MachineStep.all where step.command == .resume {
      guard [.queued, .running].contains(step.before.state) else { continue }
      #expect(step.outcome == .unchanged, "\(step)")
    }
  }

  @Test func `Requeue and start make the member wait for a slot again`() {
    for step in taken(.requeue) + taken(.start) + taken(.force) {
      if step.command != .requeue, step.before.state == .running { continue }
      #expect(step.after.settled(.paused).state == .queued, "\(step)")
    }
    for step in taken(.start) where [.queued, .paused].contains(step.before.state) {
      #expect(step.effects.contains(.startNow) && !step.effects.contains(.force), "\(step)")
    }
    for step in MachineStep.all where step.effects.contains(.force) {
      // At once, or after the run has stopped.
      #expect(step.command == .force || step.path.contains(.command(.force)), "\(step)")
    }
  }

  @Test(arguments: [TransferMachine.Command.cancel, .cancelKeepingBytes])
  func `A cancel takes effect in every state that is no end, and reports only cancelled`(
    command: TransferMachine.Command
  ) {
    for step in MachineStep.all where step.command == command {
      switch step.before.state {
      case .completed: #expect(step.outcome == .refused(.isCompleted), "\(step)")
      case .removed: #expect(step.outcome == .refused(.isUnknown), "\(step)")
      case .stopping(.remove): #expect(step.outcome == .refused(.isBeingRemoved), "\(step)")
      case .cancelled: #expect(step.outcome == .unchanged, "\(step)")
      default:
        for end in [RunEndKind.failed, .cancelled, .paused] {
          let after = step.after.settled(end)
          #expect(
            after.state == .cancelled && after.reported == .cancelled, "\(step), ended \(end)")
        }
      }
    }
  }

  @Test func `A cancel is immediate if nothing runs and no bytes must be deleted`() {
    for step in MachineStep.all where step.before.activity == .none {
      guard [.queued, .paused, .failed].contains(step.before.state) else { continue }
      let isAtOnce = step.command == .cancelKeepingBytes
      let hasNone = step.command == .cancel && !step.before.machine.hasRun
      if isAtOnce || hasNone { #expect(step.after.state == .cancelled, "\(step)") }
    }
  }

  @Test func `A cancelled or stopping member is requeued only by retry or restart`() {
    for step in MachineStep.all where step.before.state == .cancelled {
      let reviving: [MachineInput] = [.command(.retry), .command(.restart)]
      let wanted: State =
        reviving.contains(step.input)
        ? .queued : step.input == .command(.remove) ? .removed : .cancelled
      #expect(step.after.state == wanted, "\(step)")
    }
    let stopping: [State] = [.stopping(.cancel), .stopping(.cancelKeepingBytes)]
    for step in MachineStep.all where stopping.contains(step.before.state) {
      guard let command = step.command, ![.cancel, .remove].contains(command) else { continue }
      #expect(step.before.machine == step.after.machine, "\(step)")
    }
  }

  @Test func `A completed member runs again only by restart`() {
    for step in MachineStep.all where step.before.state == .completed {
      switch step.command {
      case .restart?: #expect(step.after.after(.granted).startedOver, "\(step)")
      case .remove?: #expect(step.after.state == .removed, "\(step)")
      case _?: #expect(step.outcome == .refused(.isCompleted), "\(step)")
      case nil: #expect(step.after.state == .completed, "\(step)")
      }
    }
  }

  @Test func `Retry resumes from the bytes on disk, and restart begins at zero`() {
    for step in taken(.retry) where [State.failed, .cancelled].contains(step.before.state) {
      let run = step.after.after(.granted)
      #expect(run.state == .running, "\(step)")
      #expect(run.startedOver == step.before.machine.restartsFromZero, "\(step)")
    }
    for step in taken(.restart) where step.before.machine.hasRun {
      let ends: [RunEndKind] =
        step.before.activity == .run ? [.completed, .failed, .paused] : [.paused]
      for end in ends {
        let run = step.after.settled(end).after(.granted)
        #expect(run.state == .running && run.startedOver, "\(step), ended \(end)")
      }
    }
  }

  @Test func `Remove always ends in removed, and removed is final`() {
    for step in MachineStep.all where step.command == .remove {
      let ends = RunEndKind.allCases.filter(step.after.canEnd)
      if ends.isEmpty { #expect(step.after.state == .removed, "\(step)") }
      for end in ends {
        #expect(step.after.settled(end).state == .removed, "\(step), ended \(end)")
      }
    }
    for step in MachineStep.all where step.before.state == .removed {
      #expect(step.after == step.before, "\(step)")
    }
    for step in MachineStep.all where step.before.state == .stopping(.remove) {
      #expect([.stopping(.remove), .removed].contains(step.after.state), "\(step)")
    }
  }

  @Test func `A run that reached its end is completed, unless a restart or removal was ordered`() {
    for step in MachineStep.all where step.input == .ended(.completed) {
      switch step.before.state {
      case .stopping(.remove): #expect(step.after.state == .removed, "\(step)")
      case .stopping(.requeue) where step.before.machine.restartsFromZero:
        #expect(step.after.state == .queued, "\(step)")
      default: #expect(step.after.state == .completed, "\(step)")
      }
    }
  }
}
