import HaulCore
import HaulFiles

/// Handles the reports of runs and their ends.
extension QueueCoordinator {
  private static let storeRetryDelay: Duration = .seconds(1)

  /// Handles a report that a run sends before its end.
  /// - Returns: the error, if it had to be stored and could not be.
  func handle(_ report: RunReport, of id: TransferID) async -> TransferError? {
    switch report {
    case .slotReleased(let instant):
      engine.scheduler.update { _ = $0.release(id) }
      runs.run(of: id)?.retryAt = instant
      await startReady()
      if let instant { return await storeWait(of: id, until: instant) { .retry(at: $0) } }
    case .slotRequested:
      runs.run(of: id)?.retryAt = nil
      addToScheduler(id)
      await startReady()
      emitWaiting(id, runs.identity(of: id))
    case .slotsChanged: await startReady()
    case .hostPaused(let instant):
      await startReady()
      return await storeWait(of: id, until: instant) { .hostBackOff(until: $0) }
    case .named(let name): runs[id].serverName = name
    // Stored, so that a crash does not discard the bytes received from now on.
    case .startedOver:
      return await stored { (queue, decision) in queue.startedOver(id, &decision) }
    case .published(let afterStored): runs[id].run?.afterStored = afterStored
    case .bytesLocated(let location): runs[id].location = location
    case .uploadLeft(let request): runs.run(of: id)?.uploadLeft = request
    case .processPrepared(let process):
      return await stored { (_, decision) in
        decision.programs = [StoredProcess(id: id, process: process)]
      }
    }
    return nil
  }

  /// If this cannot be stored, the download continues; after a restart it is attempted at once.
  private func storeWait(
    of id: TransferID, until instant: Instant, _ reason: (Double) -> WaitReason
  ) async -> TransferError? {
    let delay = instant - engine.clock.now
    guard delay > .zero else { return nil }
    let wall = engine.clock.wallSeconds
    let reason = reason(wall + delay / .seconds(1))
    return await stored { (queue, decision) in
      queue.noteWait(of: id, reason, at: wall, &decision)
    }
  }

  /// - Returns: the error, if it could not be stored.
  private func stored(
    _ decide: (inout QueueMachine, inout QueueDecision) -> Void
  ) async -> TransferError? {
    do throws(TransferError) {
      try await performDecision { (queue, decision) throws(TransferError) in
        decide(&queue, &decision)
      }
      return nil
    } catch {
      return error
    }
  }

  /// The only place that frees a run's slot. Ends that arrive together, or while others are being
  /// stored, are stored together.
  func ended(_ id: TransferID, _ end: RunEnd, on executor: (any TaskExecutor)?) async {
    engine.hooks.reached(.ended)
    engine.scheduler.update { _ = $0.release(id) }
    guard runs.ended(id, end) else { return forgetRun(of: id) }
    // After shutdown there may be little time left.
    guard !isShutDown else { return await storeEndsAndStart() }
    guard !willStoreEnds else { return }
    willStoreEnds = true
    // Runs after the other runs that are about to end on this thread, and stores their ends too.
    Task(executorPreference: executor) { [weak self] in await self?.storeEndsAndStart() }
  }

  /// Stores the ends of runs, and starts what may run next.
  func storeEndsAndStart() async {
    let ended = await storeEnds()
    await startReady()
    emitWaiting(
      ended.filter { queue.members.state(of: $0.id) == .queued && !runs.isRunning($0.id) })
  }

  /// - Returns: the transfers whose ends were stored.
  @discardableResult
  func storeEnds() async -> [IdentifiedTransfer] {
    await mutex.run {
      willStoreEnds = false
      let ids = runs.ended
      // The store may have refused other ends while this waited for the mutex.
      guard !ids.isEmpty, !isStoreRefusing || isShutDown else { return [] }
      // Their records may be gone once the change is stored.
      let ends = ids.map { IdentifiedTransfer(id: $0, identity: runs.identity(of: $0)) }
      let suspensions = ends.compactMap { end in
        runs.run(of: end.id)?.end?.suspension.map { (end.id, $0, end.identity) }
      }
      let aborts = ids.compactMap { id in
        runs.run(of: id)?.uploadLeft.map { PendingAbort(id: id, request: $0) }
      }
      do throws(TransferError) {
        try await commit(starting: !isStoreRefusing, ends: ids) {
          (queue, decision) throws(TransferError) in
          for id in ids { decide(id, &queue, &decision) }
          decision.pendingAborts = aborts
        }
        abortLater(aborts)
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
    guard let run = runs.run(of: id), let end = run.end else { return }
    switch end {
    case .finished(let result):
      queue.ended(id, result.state.runEnd, result, by: .disk, &decision)
    // A transfer that shutdown stopped waits for a slot when the list is opened again; one that a
    // user paused stays paused.
    case .paused where isShutDown: queue.suspended(id, .slot, &decision)
    case .paused: queue.ended(id, .paused, nil, by: .disk, &decision)
    case .suspended(let reason):
      queue.suspended(id, run.isStartedAgain ? .slot : reason, &decision)
    case .alreadyPublished(let result): queue.alreadyPublished(id, result, &decision)
    }
    if runs.storesLocation(of: id) {
      decision.locations.append(StoredLocation(id: id, location: runs[id].location))
    }
  }

  /// Nothing starts until the store has been tried again.
  func storeLater() {
    isStoreRefusing = true
    deadlines.set(.store, to: engine.clock.now + Self.storeRetryDelay)
  }

  /// Ignores the end of its run.
  func forgetRun(of id: TransferID) {
    guard runs.isRunning(id) else { return }
    runs.forget(id)
    waiters.stopped.resume(id, ())
  }

  /// Deletes the files that were kept until the ends were stored.
  func removeKeptJournals(_ removals: [@Sendable () -> Void]) async {
    // If the threads are stopped, the next opening deletes these files.
    try? await engine.io.run { for remove in removals { remove() } }
  }
}

extension RunEnd {
  /// Why it was suspended, unless it waits for a slot.
  var suspension: WaitReason? {
    if case .suspended(let reason) = self, reason != .slot { reason } else { nil }
  }
}

extension TransferResult.State {
  fileprivate var runEnd: TransferMachine.RunEndKind {
    switch self {
    case .completed: .completed
    case .failed: .failed
    case .cancelled: .cancelled
    }
  }
}
