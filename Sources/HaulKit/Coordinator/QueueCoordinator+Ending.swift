import HaulCore
import HaulFiles

/// What runs report, and how they end.
extension QueueCoordinator {
  private static let storeAgainAfter: Duration = .seconds(1)

  /// What a run reports before its end.
  /// - Returns: why it could not be stored, if it was to be.
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
    // Stored, so that what comes from now on is not forgotten once more after a crash.
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

  /// That it could not be stored stops no download: after a restart it is tried at once.
  private func storeRetry(of id: TransferID, at instant: Instant) async -> TransferError? {
    let delay = instant - engine.clock.now
    guard delay > .zero else { return nil }
    let time = engine.clock.wallSeconds + delay / .seconds(1)
    return await stored { (queue, decision) in queue.waits(id, until: time, &decision) }
  }

  /// - Returns: why it could not be stored.
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

  /// The one place where a run's slot is freed. Ends that come in one moment, or while others are
  /// being stored, are stored together.
  func ended(_ id: TransferID, _ end: RunEnd, on executor: (any TaskExecutor)?) async {
    engine.hooks.passes(.ended)
    engine.slots.update { _ = $0.paused(id) }
    guard runs.ended(id, end) else { return forgetRun(of: id) }
    // There may be little time left.
    guard !isShutDown else { return await goOnAfterEnds() }
    guard !willStoreEnds else { return }
    willStoreEnds = true
    // Behind what is about to end on the same thread.
    Task(executorPreference: executor) { [weak self] in await self?.goOnAfterEnds() }
  }

  /// Stores what has ended, and goes on with what follows from it.
  func goOnAfterEnds() async {
    let ended = await storeEnds()
    await startWhatMay()
    emitWaiting(
      ended.filter { queue.members.state(of: $0.id) == .queued && !runs.isRunning($0.id) })
  }

  /// - Returns: whose ends were stored.
  @discardableResult
  func storeEnds() async -> [Identified] {
    await turn.run {
      willStoreEnds = false
      let ids = runs.ended
      // It may have refused others since this began to wait for its turn.
      guard !ids.isEmpty, !isStoreRefusing || isShutDown else { return [] }
      // Their records may be gone once that is stored.
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
    // What the end of the program stopped waits for a slot the next time; what somebody paused is
    // paused.
    case .paused where isShutDown: queue.suspended(id, .slot, &decision)
    case .paused: queue.ended(id, .paused, nil, by: .disk, &decision)
    case .suspended(let reason): queue.suspended(id, reason, &decision)
    case .foundPublished(let result): queue.foundPublished(id, result, &decision)
    }
    if runs.storesLocation(of: id) {
      decision.locations.append(StoredLocation(id: id, location: runs[id].location))
    }
  }

  /// Nothing starts before the store was asked again.
  func storeLater() {
    isStoreRefusing = true
    deadlines.set(.store, to: engine.clock.now + Self.storeAgainAfter)
  }

  /// How its run ends, or ended, is of no interest any more.
  func forgetRun(of id: TransferID) {
    guard runs.isRunning(id) else { return }
    runs.forget(id)
    waiters.stopped.resume(id, ())
  }

  /// Deletes what finished files left on the disk until their ends were stored.
  func removeTraces(_ traces: [@Sendable () -> Void]) async {
    // Threads that have been stopped leave litter at worst: the next opening deletes it.
    try? await engine.io.run { for remove in traces { remove() } }
  }
}

extension RunEnd {
  /// What it waits for, when it is not a slot.
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
