package import HaulCore

/// Programs of steps that the last process left running.
extension Engine {
  private static let lastSignals: [(ProgramSignal, Duration)] = [
    (.terminate, ProgramMachine.grace), (.kill, .seconds(1)),
  ]

  /// Ends these programs before any transfer runs.
  /// - Returns: the transfers whose processes could not be ended.
  func endPrograms(_ stored: [StoredProcess]) async -> Set<TransferID> {
    guard let programs, !stored.isEmpty else { return [] }
    var left = await remaining(stored, programs)
    for (signal, grace) in Self.lastSignals where !left.isEmpty {
      // Cannot fail: the threads stop only with the manager.
      try? await io.run { [left] in for program in left { programs.send(signal, to: program) } }
      let deadline = clock.now + grace
      repeat { left = await remaining(left, programs) } while !left.isEmpty && clock.now < deadline
    }
    for program in left {
      log(
        TransferError(
          .internal,
          "the program of \(program.id) could not be ended: end process "
            + "\(program.process.pid) yourself"))
    }
    return Set(left.map(\.id))
  }

  /// The programs that still run, after a short wait for each to exit.
  private func remaining(
    _ left: [StoredProcess], _ programs: any Programs
  ) async -> [StoredProcess] {
    (try? await io.run { left.filter { !programs.isGone($0) } }) ?? []
  }
}

extension ProgramProcess {
  /// Waits for its end, and kills it after some time, or when the task is cancelled.
  package func end(
    within limit: Duration, by clock: any TransferClock
  ) async -> (end: ProgramEnd, hasTimedOut: Bool) {
    let deadline = clock.now + limit
    let killing = Task {
      // Ends early when the program has ended.
      guard (try? await clock.sleep(until: deadline)) != nil else { return false }
      send(.kill)
      return true
    }
    let end = await withTaskCancellationHandler {
      await waitForExit()
    } onCancel: {
      send(.kill)
    }
    killing.cancel()
    return (end, await killing.value)
  }
}
