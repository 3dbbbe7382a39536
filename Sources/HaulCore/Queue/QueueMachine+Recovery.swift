/// After a restart.
extension QueueMachine {
  /// The queue as it was stored. What is in `running` runs at this moment; nothing else does.
  package init(_ stored: StoredQueue, running: Set<TransferID> = []) {
    lastEvent = stored.lastEvent
    reserve(stored.members.count)
    self.stored = stored.members.map(\.id)
    for facts in stored.members {
      var member = Member(machine: TransferMachine(facts.standing), facts: facts)
      member.end = facts.standing.status.end
      if running.contains(facts.id), member.state == .queued { _ = member.machine.granted() }
      insert(member)
      ranks.note(facts.standing.rank)
      if let identifier = facts.identifier { identifiers[identifier] = facts.id }
      if let group = facts.group {
        groups.added(group)
        if let end = member.end { _ = groups.ended(group, end) }
      }
    }
    let nodes = stored.members.filter { !$0.after.isEmpty }
      .map { DependencyGraph.Node(id: $0.id, after: $0.after, policy: $0.whenDependencyFails) }
    // What was stored had no circle.
    try? graph.add(nodes) {
      members[$0]?.end?.dependencyEnd ?? (members[$0] == nil ? .removed : nil)
    }
  }

  /// What is to be done with a queue that was just opened: what waits is scheduled, orders that were not carried out are.
  /// - Parameters:
  ///   - wallSeconds: the time; what was to be tried again later still is.
  ///   - unended: steps whose programs run on, and could not be ended.
  package mutating func recover(
    at wallSeconds: Double, unended: Set<TransferID> = [], _ decision: inout QueueDecision
  ) {
    defer { stored = [] }
    for id in stored {
      switch members[id]?.state {
      case .queued: recoverQueued(id, at: wallSeconds, unended.contains(id), &decision)
      case .stopping(.pause), .stopping(.cancelKeepingBytes):
        ended(id, .paused, nil, by: .user, &decision)
      case .stopping: decision.effects.append(.discard(id))
      default: continue
      }
    }
    settle(&decision)
  }

  /// Schedules what waits and may run, of a queue that was read again while it runs: nothing of this is to be stored or told.
  /// Whoever waits for the time of its next attempt goes on doing so.
  package mutating func reschedule(at wallSeconds: Double, _ decision: inout QueueDecision) {
    defer { stored = [] }
    for id in stored {
      guard let member = members[id], member.state == .queued else { continue }
      if member.facts.standing.retryAt.map({ $0 > wallSeconds }) ?? false {
        change(id) { $0.isPostponed = true }
      } else if graph.verdict(of: id) == .ready {
        place(id, &decision)
      }
    }
  }

  /// A step that ran when the process died may have done half of its work.
  private mutating func recoverQueued(
    _ id: TransferID, at wallSeconds: Double, _ isUnended: Bool,
    _ decision: inout QueueDecision
  ) {
    guard let member = members[id] else { return }
    if let time = member.facts.standing.retryAt, time > wallSeconds {
      change(id) { $0.isPostponed = true }
      return decision.effects.append(.postpone(id, until: time))
    }
    guard member.facts.isStep, !member.facts.isIdempotent || isUnended,
      member.facts.standing.isUnderWay
    else { return place(id, &decision) }
    let reason = isUnended ? "; what it had started runs on, and could not be ended" : ""
    let error = TransferError(.interrupted, "the program ended while it ran\(reason)")
    perform(
      change(id) { $0.machine.skip() } ?? [], on: id, by: .user,
      TransferResult(state: .failed, error: error), &decision)
  }
}

/// Attempts that are due later.
extension QueueMachine {
  /// What runs for it waits until then for its next attempt: that survives the end of the program.
  package mutating func waits(
    _ id: TransferID, until wallSeconds: Double, _ decision: inout QueueDecision
  ) {
    change(id) { $0.facts.standing.retryAt = wallSeconds }
    note(id, nil, &decision)
  }

  /// Its time has come. Does nothing for one that has been started, paused or ended since.
  package mutating func due(_ id: TransferID, _ decision: inout QueueDecision) {
    guard change(id, { $0.isPostponed }) == true else { return }
    change(id) { ($0.isPostponed, $0.facts.standing.retryAt) = (false, nil) }
    place(id, &decision)
  }

  /// It waits for that no more. What is stored lies in the past then, and says nothing.
  package mutating func triesAgain(_ id: TransferID) {
    change(id) { $0.facts.standing.retryAt = nil }
  }
}

extension TransferStatus {
  fileprivate var end: TransferResult.State? {
    switch self {
    case .queued, .paused: nil
    case .failed: .failed
    case .completed: .completed
    case .cancelled: .cancelled
    }
  }
}
