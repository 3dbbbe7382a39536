import HaulCore
import HaulFiles

/// Handles the reports of runs and their ends.
extension QueueCoordinator {
  private static let storeAgainAfter: Duration = .seconds(1)

  /// Handles a report that a run sends before its end.
  /// - Returns: the error, if it had to be stored and could not be.
  func handle(_ report: RunReport, of id: TransferID) async -> TransferError? {
    switch report {
    case .slotLeft(let instant):
      engine.slots.update { _ = $0.paused(id) }
      await startWhatMay()
      if let instant { return await storeRetry(of: id, at: instant) }
    case .slotWanted:
      addToScheduler(id)
      await startWhatMay()
      emitWaiting(id, runs.identity(of: id))
    case .slotsChanged: await startWhatMay()
    case .named(let name): runs[id].serverName = name
    // Stored, so that a crash does not discard the bytes received from now on.
    case .startedOver:
      return await stored { (queue, decision) in queue.startedOver(id, &decision) }
    case .published(let onceStored): runs[id].run?.onceStored = onceStored
    case .leaves(let location): runs[id].location = location
    case .processBegins(let process):
      return await stored { (_, decision) in
        decision.programs = [StoredProgram(id: id, process: process)]
      }
    }
    return nil
  }

  /// A failure to store this stops no download: after a restart the attempt is made at once.
  private func storeRetry(of id: TransferID, at instant: Instant) async -> TransferError? {
    let delay = instant - engine.clock.now
    guard delay > .zero else { return nil }
    let time = engine.clock.wallSeconds + delay / .seconds(1)
    return await stored { (queue, decision) in queue.waits(id, until: time, &decision) }
  }

  /// - Returns: the error, if it could not be stored.
  private func stored(
    _ decide: (inout QueueMachine, inout QueueDecision) -> Void
  ) async -> TransferError? {
    do throws(TransferError) {
      try await carryOut { (queue, decision) throws(TransferError) in decide(&queue, &decision) }
      return nil
    } catch {
      return error
    }
  }

  /// The only place that frees a run's slot. Ends that arrive together, or while others are being
  /// stored, are stored together.
  func ended(_ id: TransferID, _ end: RunEnd, on executor: (any TaskExecutor)?) async {
    engine.hooks.passes(.ended)
    engine.slots.update { _ = $0.paused(id) }
    guard runs.ended(id, end) else { return forgetRun(of: id) }
    // There may be little time left.
    guard !isShutDown else { return await goOnAfterEnds() }
    guard !willStoreEnds else { return }
    willStoreEnds = true
    // After the runs that are about to end on the same thread.
    Task(executorPreference: executor) { [weak self] in await self?.goOnAfterEnds() }
  }

  /// Stores the ends of runs, and starts what may run next.
  func goOnAfterEnds() async {
    let ended = await storeEnds()
    await startWhatMay()
    emitWaiting(
      ended.filter { queue.members.state(of: $0.id) == .queued && !runs.isRunning($0.id) })
  }

  /// - Returns: the transfers whose ends were stored.
  @discardableResult
  func storeEnds() async -> [Identified] {
    await turn.run {
      willStoreEnds = false
      let ids = runs.ended
      // The store may have refused other ends while this waited for the mutex.
      guard !ids.isEmpty, !isStoreRefusing || isShutDown else { return [] }
      // Their records may be gone once the change is stored.
      let ends = ids.map { Identified(id: $0, identity: runs.identity(of: $0)) }
      let suspensions = ends.compactMap { end in
        runs.run(of: end.id)?.end?.suspension.map { (end.id, $0, end.identity) }
      }
      do throws(TransferError) {
        try await commit(starting: !isStoreRefusing, ends: ids) {
          (queue, decision) throws(TransferError) in
          for id in ids { decide(id, &queue, &decision) }
        }
        for (id, reason, identity) in suspensions { wait(id, reason, identity) }
        return ends
      } catch {
        if isShutDown { for id in ids { forgetRun(of: id) } } else { storeLater() }
        return []
      }
    }
  }

  private func decide(
    _ id: TransferID, _ queue: inout QueueMachine, _ decision: inout QueueDecision
  ) {
    guard let end = runs.run(of: id)?.end else { return }
    switch end {
    case .finished(let result):
      queue.ended(id, result.state.runEnd, result, by: .disk, &decision)
    // A transfer that shutdown stopped waits for a slot when the list is opened again; one that a
    // user paused stays paused.
    case .paused where isShutDown: queue.suspended(id, .slot, &decision)
    case .paused: queue.ended(id, .paused, nil, by: .disk, &decision)
    case .suspended(let reason): queue.suspended(id, reason, &decision)
    case .foundPublished(let result): queue.foundPublished(id, result, &decision)
    }
    if runs.storesLocation(of: id) {
      decision.locations.append(StoredLocation(id: id, location: runs[id].location))
    }
  }

  /// Nothing starts until the store has been tried again.
  func storeLater() {
    isStoreRefusing = true
    deadlines.set(.store, to: engine.clock.now + Self.storeAgainAfter)
  }

  /// Ignores how its run ends or ended.
  func forgetRun(of id: TransferID) {
    guard runs.isRunning(id) else { return }
    runs.forget(id)
    waiters.stopped.resume(id, ())
  }

  /// Deletes the files that were kept until the ends were stored.
  func removeTraces(_ traces: [@Sendable () -> Void]) async {
    // If the threads are stopped, the next opening deletes these files.
    try? await engine.io.run { for remove in traces { remove() } }
  }
}

extension RunEnd {
  /// Why it was suspended, unless it waits for a slot.
  fileprivate var suspension: WaitReason? {
    if case .suspended(let reason) = self, reason != .slot { reason } else { nil }
  }
}

extension TransferResult.State {
  fileprivate var runEnd: TransferMachine.RunEnd {
    switch self {
    case .completed: .completed
    case .failed: .failed
    case .cancelled: .cancelled
    }
  }
}
