/// After a restart.
extension QueueMachine {
  /// The queue as it was stored. What is in `running` runs at this moment; nothing else does.
  package init(_ stored: StoredQueue, running: Set<TransferID> = []) {
    lastEvent = stored.lastEvent
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
  package mutating func recover(_ decision: inout QueueDecision) {
    let ids = members.values.sorted { $0.facts.standing.rank < $1.facts.standing.rank }
      .map(\.facts.id)
    for id in ids {
      switch members[id]?.state {
      case .queued: recoverQueued(id, &decision)
      case .stopping(.pause), .stopping(.cancelKeepingBytes):
        ended(id, .paused, nil, by: .user, &decision)
      case .stopping: decision.effects.append(.discard(id))
      default: continue
      }
    }
    settle(&decision)
  }

  /// Schedules what waits and may run, of a queue that was read again while it runs: nothing of this is to be stored or told.
  package mutating func reschedule(_ decision: inout QueueDecision) {
    for id in Array(members.keys) where graph.verdict(of: id) == .ready { place(id, &decision) }
  }

  /// A step that ran when the process died may have done half of its work.
  private mutating func recoverQueued(_ id: TransferID, _ decision: inout QueueDecision) {
    guard let member = members[id], member.facts.isStep, !member.facts.isIdempotent,
      member.facts.standing.isUnderWay
    else { return place(id, &decision) }
    let error = TransferError(.interrupted, "the program ended while it ran")
    perform(
      change(id) { $0.machine.skip() } ?? [], on: id, by: .user,
      TransferResult(state: .failed, error: error), &decision)
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
