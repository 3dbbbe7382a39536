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
      var decision = QueueDecision()
      queue.calledBack = []
      let result = try decide(&decision)
      engine.hooks.passes(.decided)
      try await store(decision)
      engine.hooks.passes(.stored)
      await onceStored()
      await perform(decision)
      engine.hooks.passes(.carriedOut)
      return result
    }
  }

  private func store(_ decision: QueueDecision) async throws(TransferError) {
    var change = decision.change
    guard !change.isEmpty else { return }
    do {
      try await keepOlderFiles(&change)
      try await store.commit(change)
    } catch {
      engine.log(error)
      try await readAgain(without: decision)
      throw error
    }
  }

  /// An end that is none of success leaves the file that a restart was to replace: it is still there.
  private func keepOlderFiles(_ change: inout StoreChange) async throws(TransferError) {
    let ended = change.updated.filter { update in
      update.standing.hasRun && update.result.map { $0.state != .completed } ?? false
    }
    guard !ended.isEmpty else { return }
    let records = try await store.records(ended.map(\.id))
    let older = Dictionary(records.map { ($0.id, $0.result?.path) }, uniquingKeysWith: { $1 })
    for index in change.updated.indices {
      guard let path = older[change.updated[index].id] else { continue }
      change.updated[index].result = change.updated[index].result?.keeping(path)
    }
  }

  /// What was decided could not be stored: what is stored is what holds. What runs, runs on.
  private func readAgain(without refused: QueueDecision) async throws(TransferError) {
    let stored = try await store.open()
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
    queue.reschedule(at: engine.clock.wallSeconds, &decision)
    // That one runs to be queued again is not stored.
    let running = calledBack.filter { queue.members[$0]?.state == .running }
    _ = queue.handle(.requeue, running.sorted(), by: .user, &decision)
    for case .schedule(let id) in decision.effects { schedule(id) }
  }

  private func perform(_ decision: QueueDecision) async {
    await tell(decision)
    engine.hooks.passes(.told)
    for effect in decision.effects {
      await perform(effect)
      engine.hooks.passes(.acted)
    }
    for update in decision.change.updated where runs[update.id] == nil {
      waits.stopped.resume(update.id, ())
    }
    if queue.busy == 0 { waits.empty.resume(.init(), ()) }
  }

  private func perform(_ effect: QueueDecision.Effect) async {
    switch effect {
    case .schedule(let id): schedule(id)
    case .unschedule(let id): engine.slots.update { _ = $0.paused(id) }
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
      waits.ended.resume(id, result)
    case .groupEnded(let group): waits.groups.resume(group, true)
    case .removed(let id):
      engine.slots.update { _ = $0.finished(id) }
      (streams[id], serverNames[id]) = (nil, nil)
      waits.stopped.resume(id, ())
      waits.ended.resume(id, nil)
    }
  }

  /// A step has no bytes to keep: it is told that it is cancelled, and not that it is to pause.
  private func stop(_ id: TransferID, deletingBytes: Bool) {
    let member = queue.members[id]
    let isCancelled =
      member?.facts.isStep == true && member?.state == .stopping(.cancelKeepingBytes)
    runs[id]?.orders.send(deletingBytes || isCancelled ? .cancel : .pause)
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
      if let end = event.kind.streamEnd { stream.finish(.failure(end)) }
    }
    engine.hub.publish(
      events.map { TransferEvent(number: $0.number, id: $0.id, url: urls[$0.id], kind: $0.kind) })
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

extension TransferEvent.Kind {
  /// What the reader of a stream is told when this happens before the stream has begun.
  fileprivate var streamEnd: TransferError? {
    switch self {
    case .paused: TransferError(.interrupted, "it was stopped before it began")
    case .finished(let result):
      result.error ?? TransferError(.cancelled, "it was cancelled before it began")
    default: nil
    }
  }
}
