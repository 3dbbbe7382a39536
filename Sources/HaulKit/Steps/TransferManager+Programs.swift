import HaulCore
import HaulFiles

/// Steps that run programs.
extension TransferManager {
  /// Stores the process of a program; gives why it could not.
  func begins(_ id: TransferID, _ process: ProcessIdentity) async -> TransferError? {
    do throws(TransferError) {
      try await carryOut { (decision) in
        decision.programs = [StoredProgram(id: id, process: process)]
      }
      return nil
    } catch {
      return error
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
