import HaulCore
import HaulFiles
import NIOConcurrencyHelpers

/// Commands to many members, and the order of the list.
extension QueueCoordinator {
  func perform(
    _ command: TransferCommand, _ selection: TransferSelection,
    by initiator: TransferEvent.Initiator
  ) async throws(TransferError) -> CommandReport {
    switch command {
    case .pause: try await change(.pause, selection, by: initiator)
    case .resume: try await change(.resume, selection, by: initiator)
    case .requeue: try await change(.requeue, selection, by: initiator)
    case .cancel(let keepsBytes):
      try await change(keepsBytes ? .cancelKeepingBytes : .cancel, selection, by: initiator)
    case .retry: try await change(.retry, selection, by: initiator)
    case .restart: try await change(.restart, selection, by: initiator)
    case .remove: try await change(.remove, selection, by: initiator)
    case .start(let isForced):
      try await change(isForced ? .force : .start, selection, by: initiator)
    case .move(let position): try await move(selection, to: position)
    case .setPriority(let priority): try await setPriority(priority, of: selection)
    }
  }

  /// Removes members that have ended. One that a command has started again meanwhile stays in the
  /// list, and is refused as `isRunning`.
  package func removeEnded(_ ids: [TransferID]) async throws(TransferError) -> CommandReport {
    try await change(.remove, .ids(ids), by: .user, onlyEnded: true)
  }

  private func change(
    _ command: TransferMachine.Command, _ selection: TransferSelection,
    by initiator: TransferEvent.Initiator, onlyEnded: Bool = false
  ) async throws(TransferError) -> CommandReport {
    let ids = queue.order(ids(of: selection), for: command)
    if command.triesAgain {
      engine.forgiveCredentials(at: Set(ids.compactMap { queue.members[$0]?.host }))
    }
    var refused: [TransferID: CommandRefusal] = [:]
    try await performDecision(inPortions: ids) { some, isLast, queue, decision in
      for id in some where onlyEnded {
        if let member = queue.members[id], member.end == nil { refused[id] = .isRunning }
      }
      let taken = onlyEnded ? some.filter { refused[$0] == nil }[...] : some
      let refusals = queue.handle(
        command, taken, by: initiator, isLast: isLast, waitsForSlot: isWaitingForSlot, &decision)
      refused.merge(refusals) { $1 }
    }
    await startReady()
    for id in ids where command.isCarriedOutWhenStopped {
      // It may run for hours.
      if command == .pause, runsToEnd(id) { continue }
      if case .stopping = queue.members.state(of: id) { await waitUntilStopped(id) }
    }
    return CommandReport(refused: refused)
  }

  /// Whether it should stop and runs to its end, because it is a program that cannot be paused.
  func runsToEnd(_ id: TransferID) -> Bool {
    guard runs.run(of: id)?.cannotPause == true else { return false }
    return switch queue.members.state(of: id) {
    case .stopping(.pause), .stopping(.requeue): true
    default: false
    }
  }

  /// Waits until the transfer is no longer stopping.
  private func waitUntilStopped(_ id: TransferID) async {
    while id != CurrentTransfer.id, case .stopping = queue.members.state(of: id), !Task.isCancelled,
      !isShutDown || runs.isRunning(id)
    {
      _ = await waiters.stopped.valueUnlessCancelled(for: id)
    }
  }

  func pauseAll(by initiator: TransferEvent.Initiator) async {
    do throws(TransferError) {
      _ = try await perform(.pause, .all, by: initiator)
    } catch {
      engine.log(error)
      for id in runs.running { runs.send(.pause, to: id) }
    }
  }

  private func move(
    _ selection: TransferSelection, to position: QueuePosition
  ) async throws(TransferError) -> CommandReport {
    let ids = ids(of: selection)
    let report = reportOfUnknown(ids)
    try await performDecision { (queue, decision) throws(TransferError) in
      queue.move(ids, to: position, &decision)
    }
    return report
  }

  private func reportOfUnknown(_ ids: [TransferID]) -> CommandReport {
    var refused: [TransferID: CommandRefusal] = [:]
    for id in ids where !queue.members.contains(id) { refused[id] = .isUnknown }
    return CommandReport(refused: refused)
  }

  private func setPriority(
    _ priority: TransferRequest.Priority, of selection: TransferSelection
  ) async throws(TransferError) -> CommandReport {
    let ids = ids(of: selection)
    let report = reportOfUnknown(ids)
    try await performDecision(inPortions: ids) { some, _, queue, decision in
      queue.set(priority, of: some, &decision)
    }
    await startReady()
    return report
  }

  func setSuspended(_ isSuspended: Bool) async {
    let hasChanged = engine.scheduler.update { scheduler in
      defer { scheduler.isSuspended = isSuspended }
      return scheduler.isSuspended != isSuspended
    }
    await startReady()
    if hasChanged { emitSlotWaits() }
  }

  func setLimits(_ change: @Sendable (inout Scheduler.Limits) -> Void) async {
    engine.scheduler.update { scheduler in
      var limits = scheduler.limits
      change(&limits)
      scheduler.setLimits(limits)
    }
    await startReady()
  }

}

extension TransferMachine.Command {
  /// Whether its caller wants what was refused to be asked for again.
  fileprivate var triesAgain: Bool {
    switch self {
    case .retry, .restart, .start, .force: true
    case .pause, .resume, .requeue, .cancel, .cancelKeepingBytes, .remove: false
    }
  }

  /// Whether the caller waits until the run has stopped.
  fileprivate var isCarriedOutWhenStopped: Bool {
    switch self {
    case .pause, .cancel, .cancelKeepingBytes, .remove: true
    case .resume, .requeue, .retry, .restart, .start, .force: false
    }
  }
}

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
    engine.steps.withLockedValue { $0 = [:] }
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

extension PartFile {
  /// - Parameter path: the path of the finished file.
  fileprivate static func removeKeptJournal(of path: String, on disk: any Disk) throws {
    let (parent, name) = path.pathParts
    let directory = try TargetCheck.openDirectory(parent, on: disk, creating: false)
    try removeKeptJournal(of: name, in: directory, on: disk)
  }
}
