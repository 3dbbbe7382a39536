import HaulCore
import HaulFiles

/// Opening.
extension QueueCoordinator {
  /// Loads the stored list: running transfers are requeued, paused ones stay paused, and pending
  /// commands are carried out. Programs that still run are ended first.
  ///
  /// Call it once, after registering steps and before adding transfers.
  /// - Throws: `io`, when the store cannot be read.
  package func open() async throws(TransferError) {
    // `stored` ends here: a second reference would make the first change copy up to a million
    // members.
    let (programs, locations): ([StoredProcess], [TransferID: FileLocation])
    do {
      let stored = try await store.open()
      (programs, locations) = (stored.programs, stored.locations)
      for (id, location) in stored.locations {
        (runs[id].location, runs[id].isLocationStored) = (location, true)
      }
      abortLater(stored.pendingAborts, after: .zero)
      take(QueueMachine(consume stored))
    }
    engine.hooks.reached(.read)
    let stillRunning = await engine.endPrograms(programs)
    let now = engine.clock.wallSeconds
    try await performDecision(inPortions: scheduleStored()) { some, isLast, queue, decision in
      queue.recover(some, at: now, stillRunning: stillRunning, isLast: isLast, &decision)
    }
    if store.isDurable { await removeKeptJournalsOfLastProcess() }
    await showProgress(of: locations)
    await startReady()
  }

  /// Only so many journals are read when a list is opened.
  private static let maximumReadJournals = 1000

  /// Shows of those that do not run yet what is there of their files.
  private func showProgress(of locations: [TransferID: FileLocation]) async {
    let waiting = locations.filter { id, _ in
      let state = queue.members.state(of: id)
      return state == .paused || state == .queued
    }.prefix(Self.maximumReadJournals)
    guard !waiting.isEmpty else { return }
    // If they cannot be read now, the run reports why.
    let known = try? await engine.io.run { [engine] in
      waiting.compactMap { id, location in location.progress(on: engine.disk).map { (id, $0) } }
    }
    for (id, progress) in known ?? [] { engine.hub.show(progress, of: id) }
  }

  /// The number of ends to check: more than the last change of a process can have stored.
  private static let maximumCheckedEnds = 2000

  /// Deletes the kept journals of a process that died between storing the last ends and
  /// `removeKeptJournals`.
  private func removeKeptJournalsOfLastProcess() async {
    let first = max(queue.lastEvent - Self.maximumCheckedEnds, 1)
    // If the events cannot be read, the files only take space.
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
  private static let shutdownTimeout: Duration = .seconds(4)
  private static let abandonDelay: Duration = .seconds(1)

  /// Stops all runs, closes the store, and ends every event stream. A second call does nothing.
  /// - Parameter onShutdown: closes the connections and ends the threads.
  func shutDown(then onShutdown: @escaping @Sendable () async -> Void) async {
    guard !isShutDown else { return }
    isShutDown = true
    await stopRuns()
    // Threads that never return are not awaited.
    if hasAbandonedRuns { Task { await onShutdown() } } else { await onShutdown() }
    engine.hub.close()
  }

  private func stopRuns() async {
    for id in runs.running { runs.send(.pause, to: id) }
    let clock = engine.clock
    deadlines.set(.forceStop, to: clock.now + Self.shutdownTimeout)
    deadlines.set(.abandon, to: clock.now + Self.shutdownTimeout + Self.abandonDelay)
    await storeEnds()
    while let id = runs.running.first { await waiters.stopped.value(for: id) }
    deadlines.stop()
    await engine.heartbeat.stop()
    await mutex.run {}
    await store.close()
    steps = [:]
    waiters.endAll()
  }

  /// Abandons runs that do not stop in time. A download may hang in a disk call or in `prepare`;
  /// its claimed bytes are on disk. A step is stored as interrupted by the end of the program.
  func endRuns(_ keys: [Deadline]) async {
    for id in runs.running where keys.contains(.forceStop) {
      guard queue.members[id]?.storesStart == true else { continue }
      runs[id].run?.isForceStopped = true
      runs.send(.forceStop, to: id)
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

extension PartFile {
  /// - Parameter path: the path of the finished file.
  fileprivate static func removeKeptJournal(of path: String, on disk: any Disk) throws {
    let (parent, name) = path.pathParts
    let directory = try TargetCheck.openDirectory(parent, on: disk, creating: false)
    try removeKeptJournal(of: name, in: directory, on: disk)
  }
}
