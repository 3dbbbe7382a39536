import HaulCore

/// Owns the queue: decides, commits, applies, and starts what may run. Memory never holds a state
/// that the store has not accepted.
package actor QueueCoordinator {
  /// What a timer is for.
  enum Deadline: Hashable, Sendable {
    /// A host's pause or outage may be over.
    case hosts
    /// The schedule may allow other starts.
    case schedule
    /// The reason of a waiting transfer may be gone.
    case waits
    /// The store refused a change and may accept it now.
    case store
    /// The next attempt, or the start time, of a transfer that is not running.
    case retry(TransferID)
    /// The stores are asked again to delete the parts of cancelled uploads.
    case aborts
    /// Cuts short the runs that should have stopped, and later abandons them.
    case forceStop, abandon
  }

  /// A decision of this size needs a few megabytes; the cost of a transaction is then negligible.
  package static let portionSize = 8192

  let engine: Engine
  let store: any Store
  private(set) var queue = QueueMachine()
  var runs = RunSupervisor()
  /// Of transfers that have ended.
  var responses = RecentResponses()
  let mutex = AsyncMutex()
  /// Calls of `add` that wait for the mutex, in order.
  var waitingAdds: [PendingAdd] = []
  /// Groups that were looked at, and have no member of their owner.
  var groupsOfClients: Set<String> = []
  let waiters = Waiters()
  let deadlines: DeadlineQueue<Deadline>
  /// Transfers with a wait reason that must be checked.
  var waitMonitor = WaitMonitor()
  /// Whether the schedule allows starts.
  var scheduleMonitor: ScheduleMonitor
  /// Transfers that the schedule stops or has stopped.
  var stoppingForSchedule: [TransferID] = []
  var hasScheduleChanged = false
  /// How transfers repeat that run, or wait for a start time, as far as it is known.
  var repetitions: [TransferID: Repetition?] = [:]
  /// Transfers that have a slot, and whose start is not stored yet.
  var pendingStarts: [TransferID] = []
  /// Whether the schedule allowed those starts.
  var arePendingStartsWithinSchedule = false
  /// Uploads whose stores could not be asked to delete their parts, and how often all were asked.
  var pendingAborts: [PendingAbort] = []
  var abortAttempts = 0
  /// Whether a task is about to store ends, with all that arrive until then.
  var willStoreEnds = false
  /// Whether the store refused the last change that no caller asked for.
  var isStoreRefusing = false
  var isShutDown = false
  /// Whether a run did not stop in time and was abandoned.
  var hasAbandonedRuns = false
  /// The most members that one change of a command stores.
  let portionSize: Int

  init(engine: Engine, store: any Store, portionSize: Int) {
    self.engine = engine
    self.store = store
    self.portionSize = max(portionSize, 1)
    scheduleMonitor = ScheduleMonitor(engine.localSchedule)
    deadlines = DeadlineQueue(clock: engine.clock, executor: engine.soleExecutor)
    deadlines.begin { [weak self] in await self?.due($0) }
  }

  deinit {
    deadlines.stop()
    engine.hub.close()
  }

  /// Takes over a stored queue; called first.
  func take(_ stored: QueueMachine) { queue = stored }

  /// Passes the queued transfers of a newly opened list to the scheduler, and the pauses that their
  /// hosts asked for.
  func scheduleStored() -> [TransferID] {
    let (now, wall) = (engine.clock.now, engine.clock.wallSeconds)
    engine.scheduler.update { scheduler in
      for (host, until) in queue.hostPauses where until > wall {
        // The wall clock may have been set back.
        let left = min(.seconds(until - wall), RetryAfter.longestPause)
        scheduler.pauseHost(host, until: now + left)
      }
      scheduler.reserve(queue.members.queued)
      queue.scheduleStored { id, host, priority, rank, request in
        scheduler.add(id, host: host, priority: priority, rank: rank)
        if let request { scheduler.requestStart(id, request) }
      }
    }
    return queue.takeStored()
  }
}

/// Decide, commit, apply: in this order, one decision at a time.
extension QueueCoordinator {
  typealias Decide<Result> =
    (inout QueueMachine, inout QueueDecision) throws(TransferError) -> Result

  /// Applies what `decide` decides, once it is stored.
  /// - Throws: what `decide` throws, and `io` or `disk-full` when it could not be stored; nothing
  ///   has changed then.
  func performDecision<Result>(_ decide: Decide<Result>) async throws(TransferError) -> Result {
    try await mutex.run { () async throws(TransferError) in try await commit(decide) }
  }

  /// Carries out a decision about many members in portions, with less memory. Each portion is
  /// decided, stored and applied before the next; nothing else is decided or started in between.
  /// - Parameter decide: decides one portion; `isLast` marks the last one.
  /// - Throws: `io` or `disk-full` when a portion could not be stored; the portions before it stay
  ///   applied.
  func performDecision(
    inPortions ids: [TransferID],
    _ decide: (ArraySlice<TransferID>, _ isLast: Bool, inout QueueMachine, inout QueueDecision) ->
      Void
  ) async throws(TransferError) {
    do throws(TransferError) {
      try await mutex.run { () async throws(TransferError) in
        var rest = ids[...]
        repeat {
          let some = rest.prefix(portionSize)
          rest = rest.dropFirst(portionSize)
          try await commit(starting: rest.isEmpty) { (queue, decision) throws(TransferError) in
            decide(some, rest.isEmpty, &queue, &decision)
          }
        } while !rest.isEmpty
      }
    } catch {
      // Starts what the earlier portions allow.
      if ids.count > portionSize { await startReady() }
      throw error
    }
  }

  /// Call it with the mutex held.
  /// - Parameters:
  ///   - starting: whether transfers with a slot start with this decision.
  ///   - ends: the ends of runs that it stores.
  func commit<Result>(
    starting: Bool = true, ends: [TransferID] = [], _ decide: Decide<Result>
  ) async throws(TransferError) -> Result {
    var decision = QueueDecision()
    let permission = starting ? startPermission() : nil
    let result = try queue.decide(&decision, starting: permission, decide)
    if let starts = decision.starts { note(starts) }
    engine.hooks.reached(.decided)
    var events: [TransferEvent] = []
    var waiting: [TransferID: TransferIdentity] = [:]
    do throws(TransferError) {
      let unsuccessful = decision.unsuccessful
      if !unsuccessful.isEmpty { try await keepOlderFiles(of: unsuccessful, &decision) }
      events = await self.events(of: decision)
      waiting = await identities(ofWaiting: decision, events)
      var change = decision.change
      change.time = engine.clock.wallSeconds
      change.removeResponses()
      if !change.isEmpty { try await store.commit(change) }
    } catch {
      engine.log(error)
      releaseStarts(of: decision)
      throw error
    }
    engine.hooks.reached(.stored)
    let removals = ends.compactMap { runs.run(of: $0)?.afterStored }
    if !removals.isEmpty { await removeKeptJournals(removals) }
    queue.apply(decision)
    apply(decision, events, waiting, ends)
    if let starts = decision.starts, !starts.granted.isEmpty {
      await launch(starts.granted, decision)
    }
    engine.hooks.reached(.effectsPerformed)
    return result
  }

  /// A run that ends without success has not replaced the older file: it still exists.
  private func keepOlderFiles(
    of ended: [TransferID], _ decision: inout QueueDecision
  ) async throws(TransferError) {
    let records = try await store.records(ended)
    let older = records.compactMap { record in record.result?.path.map { (record.id, $0) } }
    decision.keepFiles(Dictionary(older, uniquingKeysWith: { $1 }))
  }

  /// The events of a decision, made before it is stored: removed records cannot be read afterwards.
  private func events(of decision: QueueDecision) async -> [TransferEvent] {
    let events = decision.events.map { event in
      let identity =
        runs.identity(of: event.id) ?? decision.added(event.id).map { TransferIdentity($0.request) }
      return TransferEvent(
        number: event.number, id: event.id, identity: identity, kind: event.kind,
        groupEnd: event.groupEnd)
    }
    return engine.hub.hasSubscribers ? await store.identified(events) : events
  }

  /// The identities of transfers that are about to wait for dependencies or for their start times.
  private func identities(
    ofWaiting decision: QueueDecision, _ events: [TransferEvent]
  ) async -> [TransferID: TransferIdentity] {
    var unknown: Set<TransferID> = []
    for effect in decision.effects {
      switch effect {
      case .waits(let id, _, _), .postpone(let id, _): unknown.insert(id)
      default: continue
      }
    }
    guard !unknown.isEmpty, engine.hub.hasSubscribers else { return [:] }
    var known: [TransferID: TransferIdentity] = [:]
    for event in events where unknown.remove(event.id) != nil { known[event.id] = event.identity }
    // An event without its address is better than none.
    let records = (try? await store.records(unknown.sorted())) ?? []
    for record in records { known[record.id] = TransferIdentity(record.request) }
    return known
  }
}

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
    case .changeRepetition(let id, let repetition): note(repetition, of: id)
    case .requestStart(let id, let request):
      endWait(id)
      engine.scheduler.update { $0.requestStart(id, request) }
    case .stop(let id, let deletes): stop(id, deletingBytes: deletes)
    case .discard(let id): discard(id)
    case .waits: break
    case .ended(let id, let result):
      forget(id)
      responses.note(result.response, of: id)
      if result.state == .completed, runs[id].serverName != nil { runs[id].serverName = nil }
      // A removal ends a wait by its own effect, for the same reason whenever the wait began.
      let isRemoved = result.state == .cancelled && queue.members[id] == nil
      if !isRemoved { waiters.ended.resume(id, result) }
    case .groupEnded(let group): waiters.groups.resume(group, true)
    case .removed(let id):
      forget(id)
      responses.note(nil, of: id)
      note(nil, of: id)
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
