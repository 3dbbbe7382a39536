import HaulCore
import HaulFiles

/// Steps that run programs.
extension TransferManager {
  /// Runs a program for a member that has a slot.
  func run(_ command: ProgramCommand, _ run: ProgramRun) {
    let id = command.id
    guard let orders = runs[id]?.orders else { return }
    orders.turn(to: run.take)
    runs[id]?.cutShort = run.cutShort
    engine.hub.publish(.phase(.running, reason: nil), of: id, nil)
    Task(executorPreference: engine.soleExecutor) { [weak self] in
      let end = await run.perform(command) { (process) throws(TransferError) in
        guard let self else { throw TransferError(.interrupted, "its manager is gone") }
        try await self.begins(id, process)
      }
      await self?.ended(id, end)
    }
  }

  private func begins(_ id: TransferID, _ process: ProcessIdentity) async throws(TransferError) {
    try await carryOut { (decision) in
      decision.programs = [StoredProgram(id: id, process: process)]
    }
  }

  /// Ends what the last process of ours left running, before anything of the list runs again.
  /// - Returns: those of which something runs on all the same.
  func endPrograms(_ stored: [StoredProgram]) async -> Set<TransferID> {
    guard let programs = engine.programs, !stored.isEmpty else { return [] }
    let clock = engine.clock
    var left = await remaining(stored, programs)
    for (signal, grace) in Self.lastSignals where !left.isEmpty {
      await tell(left, signal, programs)
      let deadline = clock.now + grace
      repeat { left = await remaining(left, programs) } while !left.isEmpty && clock.now < deadline
    }
    for program in left {
      engine.log(
        TransferError(
          .internal,
          "the program of \(program.id) could not be ended: end process "
            + "\(program.process.pid) yourself"))
    }
    return Set(left.map(\.id))
  }

  private static let lastSignals: [(ProgramSignal, Duration)] = [
    (.terminate, ProgramMachine.grace), (.kill, .seconds(1)),
  ]

  /// Waits a moment for each.
  private func remaining(
    _ left: [StoredProgram], _ programs: any Programs
  ) async -> [StoredProgram] {
    // When the threads have been stopped, so has everything else.
    (try? await engine.io.run { left.filter { !programs.isGone($0) } }) ?? []
  }

  private func tell(
    _ left: [StoredProgram], _ signal: ProgramSignal, _ programs: any Programs
  ) async {
    // As above.
    try? await engine.io.run { for program in left { programs.send(signal, to: program) } }
  }
}
