import HaulCore

/// Decide, store, do: in this order, one after the other.
extension TransferManager {
  /// Carries out what `decide` decides, once it is stored.
  /// - Throws: what `decide` throws, and `io` or `disk-full` when it could not be stored; nothing has changed then.
  /// - Parameter onceStored: done before anybody is told.
  func carryOut<Result>(
    _ decide: (inout QueueDecision) throws(TransferError) -> Result,
    onceStored: () async -> Void = {}
  ) async throws(TransferError) -> Result {
    try await turns.run { () async throws(TransferError) in
      try await carryOutNow(decide, onceStored: onceStored)
    }
  }

  /// Carries out, portion by portion, what is decided of many: a decision on a million would need gigabytes. Each portion is
  /// decided, stored and done before the next, all in one turn, and nothing new starts before the last one is decided.
  /// - Parameter decide: is told whether the portion is the last.
  /// - Throws: `io` or `disk-full` when a portion could not be stored; those before it are stored and stay so.
  func carryOut(
    inPortions ids: [TransferID],
    _ decide: (ArraySlice<TransferID>, _ isLast: Bool, inout QueueDecision) -> Void
  ) async throws(TransferError) {
    do throws(TransferError) {
      try await turns.run { () async throws(TransferError) in
        defer { holdsStarts = false }
        var rest = ids[...]
        repeat {
          let some = rest.prefix(portion)
          rest = rest.dropFirst(portion)
          holdsStarts = !rest.isEmpty
          try await carryOutNow { (decision) throws(TransferError) in
            decide(some, rest.isEmpty, &decision)
          }
        } while !rest.isEmpty
      }
    } catch {
      if ids.count > portion { await settleRest() }
      throw error
    }
  }

  /// After a portion that was not stored: what follows from those before it.
  private func settleRest() async {
    do {
      try await carryOut { (decision) throws(TransferError) in queue.settle(&decision) }
    } catch { engine.log(error) }
    await startWhatMay()
  }

  /// The same, for one whose turn it is.
  func carryOutNow<Result>(
    _ decide: (inout QueueDecision) throws(TransferError) -> Result,
    onceStored: () async -> Void = {}
  ) async throws(TransferError) -> Result {
    if let refusedDecision { try await readAgain(without: refusedDecision) }
    var decision = QueueDecision()
    queue.calledBack = []
    let result = try decide(&decision)
    engine.hooks.passes(.decided)
    try await store(&decision)
    engine.hooks.passes(.stored)
    await onceStored()
    await perform(decision)
    engine.hooks.passes(.carriedOut)
    return result
  }

  private func store(_ decision: inout QueueDecision) async throws(TransferError) {
    do {
      try await keepOlderFiles(&decision)
      let change = decision.change
      guard !change.isEmpty else { return }
      try await store.commit(change)
    } catch {
      engine.log(error)
      refusedDecision = decision
      try await readAgain(without: decision)
      throw error
    }
  }

  /// An end that is none of success leaves the file that a restart was to replace: it is still there.
  private func keepOlderFiles(_ decision: inout QueueDecision) async throws(TransferError) {
    let ended = decision.unsuccessful
    guard !ended.isEmpty else { return }
    let records = try await store.records(ended)
    let older = records.compactMap { record in record.result?.path.map { (record.id, $0) } }
    decision.keepFiles(Dictionary(older, uniquingKeysWith: { $1 }))
  }

  /// What was decided could not be stored: what is stored is what holds. What runs, runs on.
  private func readAgain(without refused: QueueDecision) async throws(TransferError) {
    let stored = try await store.open()
    // Who was held and is not any more is not to be held again.
    forgetThoseWhoLeft()
    // What has begun meanwhile runs too; ends that could not be stored are still to come.
    let alive = Set(runs.keys).union(unstored.keys)
    let calledBack = alive.filter { id in
      unstored[id]
        ?? (queue.calledBack.contains(id)
          || queue.members[id]?.state == .stopping(.requeue)
            && !refused.effects.contains(.stop(id, deletingBytes: false)))
    }
    queue = QueueMachine(stored, running: alive)
    // The scheduler knows nothing that was not stored; what it is told twice changes nothing.
    var decision = QueueDecision()
    queue.reschedule(
      at: engine.clock.wallSeconds, held: Set(obstacles.ids), &decision)
    // That one runs to be queued again is not stored.
    let running = calledBack.filter { queue.members[$0]?.state == .running }
    // What follows for those behind others is decided with the next change.
    _ = queue.handle(.requeue, running.sorted(), by: .user, isLast: false, &decision)
    for effect in decision.effects {
      switch effect {
      case .schedule(let id): schedule(id)
      case .postpone(let id, let time) where postponed[id] == nil: postpone(id, until: time)
      default: continue
      }
    }
    refusedDecision = nil
    lookAgain()
  }

  /// Who waits saw what was decided, and does not hold.
  private func lookAgain() {
    waits.stopped.resumeAll(())
    waits.ended.resumeAll(nil)
    waits.groups.resumeAll(false)
    waits.tell(busy: queue.busy)
  }

  private func perform(_ decision: QueueDecision) async {
    await tell(decision)
    engine.hooks.passes(.told)
    for effect in decision.effects {
      await perform(effect)
      engine.hooks.passes(.acted)
    }
    tellObstructed(decision)
    for id in decision.updated where runs[id] == nil { waits.stopped.resume(id, ()) }
    if !holdsStarts { waits.tell(busy: queue.busy) }
  }

  /// Has those look again that wait for members which do not run before another is retried.
  private func tellObstructed(_ decision: QueueDecision) {
    let added = Set(decision.added.map(\.id))
    var ids: [TransferID] = []
    var told: Set<TransferID> = []
    for case .waits(let id, _, let isBlocked) in decision.effects {
      if isBlocked { told.insert(id) }
      if isBlocked || !added.contains(id) { ids.append(id) }
    }
    guard !ids.isEmpty else { return }
    var groups: Set<String> = []
    for (id, other) in queue.obstructed(ids) {
      if !told.contains(id) {
        let reason = "\(other), which must be completed before, was not"
        engine.hub.publish(.phase(.waiting, reason: reason), of: id, nil)
      }
      if let group = queue.members[id]?.facts.group { groups.insert(group) }
      waits.ended.resume(id, nil)
    }
    for group in groups { waits.groups.resume(group, false) }
  }

  private func perform(_ effect: QueueDecision.Effect) async {
    switch effect {
    // It may have been started since.
    case .schedule(let id): if queue.members[id]?.isScheduled == true { schedule(id) }
    case .unschedule(let id): if runs[id] == nil { engine.slots.update { _ = $0.paused(id) } }
    case .postpone(let id, let time): postpone(id, until: time)
    case .rearrange(let id): rearrange(id)
    case .prefer(let id): engine.slots.update { $0.starts(id) }
    case .force(let id): engine.slots.update { $0.force(id) }
    case .stop(let id, let deletes): stop(id, deletingBytes: deletes)
    case .discard(let id): await startDiscarding(id)
    case .waits(let id, let other, let isBlocked):
      let reason =
        isBlocked ? "\(other), which it needs, was not completed" : "it waits for \(other)"
      engine.hub.publish(.phase(.waiting, reason: reason), of: id, nil)
    case .ended(let id, let result):
      engine.slots.update { _ = $0.finished(id) }
      engine.targets.forget(id)
      waits.ended.resume(id, result)
    case .groupEnded(let group): waits.groups.resume(group, true)
    case .removed(let id):
      engine.slots.update { _ = $0.finished(id) }
      engine.targets.forget(id)
      (streams[id], serverNames[id], places[id]) = (nil, nil, nil)
      storedPlaces.remove(id)
      waits.stopped.resume(id, ())
      waits.ended.resume(id, nil)
    }
  }

  /// A step has no bytes to keep: it is told that it is cancelled, and not that it is to pause.
  private func stop(_ id: TransferID, deletingBytes: Bool) {
    let member = queue.members[id]
    let isCancelled =
      member?.facts.isStep == true && member?.state == .stopping(.cancelKeepingBytes)
    runs[id]?.context.send(deletingBytes || isCancelled ? .cancel : .pause)
  }

  func schedule(_ id: TransferID) {
    guard let facts = queue.members[id]?.facts else { return }
    let standing = facts.standing
    engine.slots.update {
      $0.add(id, host: facts.host, priority: standing.priority, rank: standing.rank)
    }
  }

  private func rearrange(_ id: TransferID) {
    guard let standing = queue.members[id]?.facts.standing else { return }
    engine.slots.update {
      $0.move(id, to: standing.rank)
      $0.setPriority(id, standing.priority)
    }
  }

  /// Tells state changes, and the readers of streams that never began what became of them.
  private func tell(_ decision: QueueDecision) async {
    let events = decision.events
    guard !events.isEmpty else { return }
    let urls = engine.hub.isHeard ? await urls(of: decision) : [:]
    for event in events where runs[event.id] == nil {
      guard let stream = streams[event.id]?.buffer else { continue }
      switch event.kind {
      case .finished(let result): stream.finish(.failure(result.streamError))
      // Whoever read of its end has been told; what begins again is to be read anew.
      case .resumed where stream.hasEnded: openStream(event.id)
      default: continue
      }
    }
    engine.hub.publish(
      events.lazy.map {
        TransferEvent(number: $0.number, id: $0.id, url: urls[$0.id], kind: $0.kind)
      })
  }

  private func urls(of decision: QueueDecision) async -> [TransferID: ResourceURL] {
    var urls: [TransferID: ResourceURL] = [:]
    for record in decision.added { urls[record.id] = record.request.download?.url }
    var unknown: [TransferID] = []
    for id in decision.events.map(\.id) where urls[id] == nil {
      if let url = runs[id]?.url { urls[id] = url } else { unknown.append(id) }
    }
    // An event without its address is better than none.
    for record in (try? await store.records(unknown)) ?? [] {
      urls[record.id] = record.request.download?.url
    }
    return urls
  }
}

extension TransferResult {
  /// What the reader of a stream is told when it ended before it had begun.
  fileprivate var streamError: TransferError {
    error ?? TransferError(.cancelled, "it was cancelled before it began")
  }
}
