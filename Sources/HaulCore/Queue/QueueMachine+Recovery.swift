/// After a restart.
extension QueueMachine {
  /// The queue as it was stored; nothing runs.
  package init(_ stored: StoredQueue) {
    self.init(stored.shelf)
    lastEvent = stored.lastEvent
    self.stored = stored.ids
    for (id, target) in stored.targets { take(target, for: id) }
    // What was stored had no circle.
    try? graph.add(stored.nodes) { members.dependencyEnd(of: $0) }
  }

  /// In a queue that was just opened, has those scheduled that wait for a slot only, in the order
  /// of the list: of a million, most. What else is to be seen to is left to `takeStored` and
  /// `recover`.
  package mutating func scheduleStored(
    _ schedule: (TransferID, _ host: String?, TransferRequest.Priority, _ rank: Int64) -> Void
  ) {
    var rest: [TransferID] = []
    for (place, id) in stored.enumerated() {
      switch open(id, near: place) {
      case .nothing: continue
      case .recovery: rest.append(id)
      case .slot(let host, let priority, let rank): schedule(id, host, priority, rank)
      }
    }
    stored = rest
  }

  /// The members that were stored, in the order of the list; once.
  package mutating func takeStored() -> [TransferID] {
    defer { stored = [] }
    return stored
  }

  /// What is to be done with these of a queue that was just opened: what waits is scheduled, orders
  /// that were not carried out are.
  /// - Parameters:
  ///   - wallSeconds: the time; what was to be tried again later still is.
  ///   - unended: steps whose programs run on, and could not be ended.
  ///   - isLast: as for `handle`.
  package mutating func recover(
    _ ids: some Sequence<TransferID>, at wallSeconds: Double, unended: Set<TransferID> = [],
    isLast: Bool = true, _ decision: inout QueueDecision
  ) {
    for id in ids {
      switch members.state(of: id) {
      case .queued: recoverQueued(id, at: wallSeconds, unended.contains(id), &decision)
      case .stopping(.pause) where wasCutOff(id, unended.contains(id)):
        ended(id, .failed, Self.cutOff(unended.contains(id)), by: .user, &decision)
      case .stopping(.pause), .stopping(.cancelKeepingBytes):
        ended(id, .paused, nil, by: .user, &decision)
      case .stopping: decision.effects.append(.discard(id))
      default: continue
      }
    }
    if isLast { settle(&decision) } else { settleLater(&decision) }
  }

  /// A step that ran when the process died may have done half of its work.
  private mutating func recoverQueued(
    _ id: TransferID, at wallSeconds: Double, _ isUnended: Bool,
    _ decision: inout QueueDecision
  ) {
    guard let member = members[id] else { return }
    if let time = member.facts.storedState.retryAt, time > wallSeconds {
      change(id) { ($0.isScheduled, $0.isPostponed) = (false, true) }
      return decision.effects.append(.postpone(id, until: time))
    }
    guard wasCutOff(id, isUnended) else { return place(id, &decision) }
    perform(
      change(id) { $0.machine.skip() } ?? [], on: id, by: .user, Self.cutOff(isUnended), &decision)
  }

  /// Whether it is a step that was under way when the process died, and must not be run as if it
  /// had not been.
  private func wasCutOff(_ id: TransferID, _ isUnended: Bool) -> Bool {
    guard let facts = members[id]?.facts else { return false }
    return facts.isStep && facts.storedState.isUnderWay && (!facts.isIdempotent || isUnended)
  }

  private static func cutOff(_ isUnended: Bool) -> TransferResult {
    let reason = isUnended ? "; processes that it started still run and could not be ended" : ""
    return TransferResult(
      state: .failed,
      error: TransferError(.interrupted, "the program ended while it ran\(reason)"))
  }
}

/// Attempts that are due later.
extension QueueMachine {
  /// What ran for it has stopped, and goes on by itself: at once when it waits for a slot,
  /// otherwise when it is `due`. One that was being stopped becomes what it was to be.
  package mutating func suspended(
    _ id: TransferID, _ reason: WaitReason, _ decision: inout QueueDecision
  ) {
    guard members.state(of: id) == .running else {
      return ended(id, .suspended, nil, by: .disk, &decision)
    }
    change(id) { member in
      _ = member.machine.ended(.suspended)
      member.isPostponed = reason != .slot
      if member.isPostponed { member.facts.storedState.waitReason = reason }
    }
    if reason == .slot { place(id, &decision) }
    note(id, nil, &decision)
  }

  /// What runs for these is to stop, and to go on by itself when it may run again.
  package mutating func suspend(
    _ ids: some Sequence<TransferID>, _ decision: inout QueueDecision
  ) {
    for id in ids {
      guard change(id, { $0.machine.suspend() }) == true else { continue }
      decision.effects.append(.stop(id, deletingBytes: false))
    }
  }

  /// What runs for it waits until then for its next attempt: that survives the end of the program.
  package mutating func waits(
    _ id: TransferID, until wallSeconds: Double, _ decision: inout QueueDecision
  ) {
    // Somebody may have ordered something since.
    guard members[id]?.state == .running else { return }
    change(id) { $0.facts.storedState.waitReason = .retry(at: wallSeconds) }
    note(id, nil, &decision)
  }

  /// It was to begin again, and found that an earlier run had given its file its name, which nobody
  /// had stored: it is queued once more, and its next run replaces that.
  package mutating func foundPublished(
    _ id: TransferID, _ result: TransferResult, _ decision: inout QueueDecision
  ) {
    suspended(id, .slot, &decision)
    note(id, result, &decision)
  }

  /// Its time has come. Does nothing for one that has been started, paused or ended since.
  package mutating func due(_ id: TransferID, _ decision: inout QueueDecision) {
    guard members.isPostponed(id) else { return }
    change(id) { ($0.isPostponed, $0.facts.storedState.waitReason) = (false, nil) }
    place(id, &decision)
  }
}
