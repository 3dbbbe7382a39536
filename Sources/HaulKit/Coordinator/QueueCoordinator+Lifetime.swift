import HaulCore
import HaulFiles

/// Opening.
extension QueueCoordinator {
  /// Takes up what the store holds: what ran is queued again, what was paused stays so, orders that
  /// had not been carried out are carried out. Programs that run on are ended first.
  ///
  /// Once, before anything is added; steps that it is to run are registered before.
  /// - Throws: `io`, when the store cannot be read.
  func open() async throws(TransferError) {
    // Nothing else holds it: a million would be copied with the first change.
    let programs: [StoredProgram]
    do {
      let stored = try await store.open()
      programs = stored.programs
      for (id, location) in stored.locations {
        (runs[id].location, runs[id].isLocationStored) = (location, true)
      }
      take(QueueMachine(consume stored))
    }
    engine.hooks.passes(.read)
    let unended = await engine.endPrograms(programs)
    let now = engine.clock.wallSeconds
    try await carryOut(inPortions: scheduleStored()) { some, isLast, queue, decision in
      queue.recover(some, at: now, unended: unended, isLast: isLast, &decision)
    }
    if store.isDurable { await removeTracesOfLastProcess() }
    await startWhatMay()
  }

  /// More ends than a change stores that was the last one of a process.
  private static let lastEnds = 2000

  /// Deletes what a process left that died between storing the last ends and `removeTraces`.
  private func removeTracesOfLastProcess() async {
    let first = max(queue.lastEvent - Self.lastEnds, 1)
    // Litter at worst.
    let events = (try? await store.events(from: first, atMost: .max)) ?? []
    let paths = events.compactMap { event in
      if case .finished(let result) = event.kind { result.path } else { nil }
    }
    guard !paths.isEmpty else { return }
    try? await engine.io.run { [engine] in
      for path in paths { try? PartFile.removeKeptJournal(of: path, on: engine.disk) }
    }
  }
}

/// Shutting down.
extension QueueCoordinator {
  private static let patience: Duration = .seconds(4)
  private static let lastMoment: Duration = .seconds(1)

  /// Stops what runs and closes the store. A second call does nothing.
  /// - Returns: whether threads may be waited for; nil for a second call.
  func shutdown() async -> Bool? {
    guard !isShutDown else { return nil }
    isShutDown = true
    for id in runs.running { runs.send(.pause, to: id) }
    let clock = engine.clock
    deadlines.set(.cutShort, to: clock.now + Self.patience)
    deadlines.set(.abandon, to: clock.now + Self.patience + Self.lastMoment)
    await storeEnds()
    while let id = runs.running.first { await waiters.stopped.value(for: id) }
    deadlines.stop()
    await engine.heartbeat.stop()
    await turn.run {}
    await store.close()
    steps = [:]
    waiters.endAll()
    return !hasAbandonedRuns
  }

  /// What does not stop in time. A download can be held up by a disk that does not answer, or by
  /// what prepares its requests: what it has claimed is there. A step that is cut short is stored
  /// as one that was under way when the program ended.
  func endRuns(_ keys: [Deadline]) async {
    for id in runs.running where keys.contains(.cutShort) {
      guard queue.members[id]?.facts.isStep == true else { continue }
      runs[id].run?.isCutShort = true
      runs.send(.cutShort, to: id)
    }
    guard keys.contains(.abandon) else { return }
    hasAbandonedRuns = !runs.running.isEmpty
    for id in runs.running { forgetRun(of: id) }
  }
}

/// Programs of steps that the last process left running.
extension Engine {
  private static let lastSignals: [(ProgramSignal, Duration)] = [
    (.terminate, ProgramMachine.grace), (.kill, .seconds(1)),
  ]

  /// Ends them, before anything of the list runs again.
  /// - Returns: those of which something runs on all the same.
  func endPrograms(_ stored: [StoredProgram]) async -> Set<TransferID> {
    guard let programs, !stored.isEmpty else { return [] }
    var left = await remaining(stored, programs)
    for (signal, grace) in Self.lastSignals where !left.isEmpty {
      // When the threads have been stopped, so has everything else.
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

  /// Waits a moment for each.
  private func remaining(
    _ left: [StoredProgram], _ programs: any Programs
  ) async -> [StoredProgram] {
    (try? await io.run { left.filter { !programs.isGone($0) } }) ?? []
  }
}

extension PartFile {
  /// - Parameter path: of the finished file.
  fileprivate static func removeKeptJournal(of path: String, on disk: any Disk) throws {
    let (parent, name) = path.pathParts
    let directory = try TargetCheck.openDirectory(parent, on: disk, creating: false)
    try removeKeptJournal(of: name, in: directory, on: disk)
  }
}
