import HaulCore

/// Applies a decision once it is stored. Nothing here suspends, so readers see all of it or none.
extension QueueCoordinator {
  func apply(
    _ decision: QueueDecision, _ events: [TransferEvent],
    _ waiting: [TransferID: TransferIdentity], _ ends: [TransferID]
  ) {
    runs.endsStored(ends)
    changeStreams(decision.events)
    if !events.isEmpty { engine.hub.emit(events) }
    if let starts = decision.starts { begin(starts) }
    engine.hooks.reached(.eventsEmitted)
    let areScheduled = decision.starts?.scheduled.isEmpty == false
    for effect in decision.effects {
      if case .enqueue = effect, areScheduled {} else { perform(effect) }
      engine.hooks.reached(.effectPerformed)
    }
    emitDependencies(decision, waiting)
    emitStartTimes(decision, waiting)
    if !waiters.stopped.isEmpty {
      for id in decision.updated where !runs.isRunning(id) { waiters.stopped.resume(id, ()) }
      for id in ends { waiters.stopped.resume(id, ()) }
    }
    waiters.resume(outstanding: queue.outstandingCount)
  }

  private func begin(_ starts: QueueStarts) {
    guard !starts.granted.isEmpty else { return }
    for (id, _) in starts.granted {
      beginRun(of: id)
    }
    // While the decision was stored, the schedule window may have closed, or the manager may have
    // shut down.
    if starts.isWithinSchedule, !scheduleMonitor.isOpen {
      stopForSchedule(starts.granted.map(\.id))
    }
    if isShutDown { for (id, _) in starts.granted { runs.send(.pause, to: id) } }
  }

  /// Ends or reopens the streams of transfers that are not running.
  private func changeStreams(_ events: [StoredEvent]) {
    for event in events {
      switch event.kind {
      case .finished(let result):
        guard !runs.isRunning(event.id) else { continue }
        runs.stream(of: event.id)?.finish(.failure(result.streamError))
      // The reader has read the end; a restarted stream is read from the beginning.
      case .resumed:
        guard !runs.isRunning(event.id), runs.stream(of: event.id)?.hasEnded == true else {
          continue
        }
        openStream(of: event.id)
      default: continue
      }
    }
  }

  private func perform(_ effect: QueueDecision.Effect) {
    switch effect {
    // It may have been started since.
    case .enqueue(let id):
      if queue.members[id]?.isScheduled == true { addToScheduler(id) }
    case .unschedule(let id): if !runs.isRunning(id) { releaseSlot(of: id) }
    case .postpone(let id, let time): postpone(id, until: time)
    case .rearrange(let id): rearrange(id)
    case .limitRate(let id, let rate): runs.run(of: id)?.context.limitRate(to: rate)
    case .requestStart(let id, let request):
      endWait(id)
      engine.scheduler.update { $0.requestStart(id, request) }
    case .stop(let id, let deletes): stop(id, deletingBytes: deletes)
    case .discard(let id): discard(id)
    case .waits: break
    case .ended(let id, let result):
      forget(id)
      if result.state == .completed, runs[id].serverName != nil { runs[id].serverName = nil }
      // A removal ends a wait by its own effect, for the same reason whenever the wait began.
      let isRemoved = result.state == .cancelled && queue.members[id] == nil
      if !isRemoved { waiters.ended.resume(id, result) }
    case .groupEnded(let group): waiters.groups.resume(group, true)
    case .removed(let id):
      forget(id)
      runs.remove(id)
      waiters.stopped.resume(id, ())
      waiters.ended.resume(id, nil)
    }
  }

  /// Releases its slot, its reserved name and its cookies.
  private func forget(_ id: TransferID) {
    engine.endSession(id)
    releasePendingStarts(id)
    engine.scheduler.update { _ = $0.finished(id) }
    engine.targets.forget(id)
  }

  /// A run that released its slot until its next attempt requests one now. One that has ended with
  /// a wait runs again without it.
  private func endWait(_ id: TransferID) {
    if let run = runs.run(of: id), run.end != nil { run.isStartedAgain = true }
    guard runs.isWaitingForSlot(id), engine.scheduler.update({ $0.isReleased(id) }) else { return }
    addToScheduler(id)
  }

  private func releaseSlot(of id: TransferID) {
    releasePendingStarts(id)
    engine.scheduler.update { _ = $0.release(id) }
  }

  /// A step has no bytes to keep: it is cancelled instead of paused.
  private func stop(_ id: TransferID, deletingBytes: Bool) {
    let member = queue.members[id]
    let isCancelled =
      member?.storesStart == true && member?.state == .stopping(.cancelKeepingBytes)
    runs.send(deletingBytes || isCancelled ? .cancel : .pause, to: id)
  }

  func addToScheduler(_ id: TransferID) {
    if let member = queue.members[id] { engine.scheduler.update { $0.add(member) } }
  }

  private func rearrange(_ id: TransferID) {
    guard let storedState = queue.members[id]?.storedState else { return }
    engine.scheduler.update {
      $0.move(id, to: storedState.rank)
      $0.setPriority(id, storedState.priority)
    }
  }

  /// Emits wait reasons for members with dependencies, and wakes the callers that await members
  /// which are now blocked.
  private func emitDependencies(
    _ decision: QueueDecision, _ known: [TransferID: TransferIdentity]
  ) {
    var waiting: [(id: TransferID, isBlocked: Bool)] = []
    for case .waits(let id, let other, let isBlocked) in decision.effects {
      waiting.append((id, isBlocked))
      emitWaiting(id, .dependency(other, isBlocked: isBlocked), known[id])
    }
    guard !waiting.isEmpty else { return }
    let added = Set(decision.added.map(\.id))
    let published = Set(waiting.filter(\.isBlocked).map(\.id))
    let ids = waiting.map(\.id).filter { published.contains($0) || !added.contains($0) }
    var groups: Set<String> = []
    for (id, other) in queue.blocked(ids) {
      if !published.contains(id) {
        emitWaiting(id, .dependency(other, isBlocked: true), nil)
      }
      if let group = queue.members[id]?.group { groups.insert(group) }
      waiters.ended.resume(id, nil)
    }
    for group in groups.sorted() { waiters.groups.resume(group, false) }
  }
}

extension QueueCoordinator {
  private func emitStartTimes(
    _ decision: QueueDecision, _ known: [TransferID: TransferIdentity]
  ) {
    let now = engine.clock.wallSeconds
    for case .postpone(let id, let time) in decision.effects where time > now {
      let reason = WaitReason.startTime(until: time)
      if queue.members[id]?.waiting == reason { emitWaiting(id, reason, known[id]) }
    }
  }
}

extension TransferResult {
  /// The error for the reader of a stream that ended before it started.
  fileprivate var streamError: TransferError {
    error ?? TransferError(.cancelled, "it was cancelled before it started")
  }
}
