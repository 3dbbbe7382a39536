import HaulCore
import HaulFiles
import NIOConcurrencyHelpers

/// Runs a step's program: performs the commands of `ProgramMachine`.
final class ProgramDriver: TransferDriver {
  private struct State {
    var machine: ProgramMachine
    /// Nil when it can no longer be signalled.
    var process: (any ProgramProcess)?
    /// Kills the process when its grace period is over.
    var killing: Task<Void, Never>?
  }

  private let command: ProgramCommand
  private let engine: Engine
  private let programs: any Programs
  private let state: NIOLockedValueBox<State>

  init(
    _ command: ProgramCommand, _ engine: Engine, _ programs: any Programs, isIdempotent: Bool
  ) {
    self.command = command
    self.engine = engine
    self.programs = programs
    state = NIOLockedValueBox(State(machine: ProgramMachine(isIdempotent: isIdempotent)))
  }

  private func take(_ order: RunOrder) {
    switch order {
    case .pause: handle(.pause)
    case .cancel: handle(.cancel)
    case .forceStop: handle(.forceStop)
    case .slotGranted: break
    }
  }

  private func handle(_ order: ProgramMachine.Order) {
    state.withLockedValue { state in
      let action = state.machine.handle(order, at: engine.clock.now)
      guard let action, let process = state.process else { return }
      switch action {
      case .kill: process.send(.kill)
      case .terminate(let deadline):
        process.send(.terminate)
        let clock = engine.clock
        state.killing = Task(executorPreference: engine.soleExecutor) {
          // The process ended first.
          guard (try? await clock.sleep(until: deadline)) != nil else { return }
          process.send(.kill)
        }
      }
    }
  }

  func run(_ context: RunContext) async -> RunEnd {
    context.receiveOrders(take)
    engine.hub.emit(.phase(.running, reason: nil), of: context.id, context.identity)
    let started = engine.clock.now
    let outcome: ProgramMachine.Outcome
    do throws(TransferError) {
      outcome = try await perform(context)
    } catch {
      outcome = .failed(error)
    }
    return RunEnd(outcome, duration: engine.clock.now - started)
  }

  /// The process is stored before the program's first instruction, so that it is found after a
  /// crash.
  private func perform(
    _ context: RunContext
  ) async throws(TransferError) -> ProgramMachine.Outcome {
    let process = try await engine.io.run { [programs, command] () throws(TransferError) in
      try programs.prepare(command)
    }
    if let error = await context.report(.processPrepared(process.identity)) {
      try await engine.io.run { process.abandon() }
      throw error
    }
    guard begins(process) else {
      try await engine.io.run { process.abandon() }
      return state.withLockedValue { $0.machine.outcomeIfNotStarted }
    }
    let outcome = await outcome(of: process, command.name)
    return try outcome.get()
  }

  /// From now on the process receives orders; false when it must not begin.
  private func begins(_ process: any ProgramProcess) -> Bool {
    state.withLockedValue { state in
      guard state.machine.begin() else { return false }
      state.process = process
      return true
    }
  }

  private func outcome(
    of process: any ProgramProcess, _ name: String
  ) async -> Result<ProgramMachine.Outcome, TransferError> {
    let begun = await beginning(process)
    let end: ProgramEnd? = if case .success = begun { await process.waitForExit() } else { nil }
    let (machine, killing) = state.withLockedValue { state in
      state.process = nil
      return (state.machine, state.killing)
    }
    killing?.cancel()
    await killing?.value
    return begun.map {
      end.map { machine.outcome(of: $0, name: name) } ?? machine.outcomeIfNotStarted
    }
  }

  private func beginning(_ process: any ProgramProcess) async -> Result<Void, TransferError> {
    do throws(TransferError) {
      return .success(try await engine.io.run { () throws(TransferError) in try process.begin() })
    } catch {
      return .failure(error)
    }
  }
}

extension RunEnd {
  fileprivate init(_ outcome: ProgramMachine.Outcome, duration: Duration) {
    switch outcome {
    case .completed: self = .finished(TransferResult(state: .completed, duration: duration))
    case .failed(let error):
      self = .finished(TransferResult(state: .failed, duration: duration, error: error))
    case .cancelled: self = .finished(TransferResult(state: .cancelled, duration: duration))
    case .paused: self = .paused
    }
  }
}
