/// The consequences of a change of one member.
extension QueueMachine {
  /// Translates the effects of a transfer's machine.
  mutating func perform(
    _ effects: [TransferMachine.Effect], on id: TransferID, by initiator: TransferEvent.Initiator,
    _ result: TransferResult?, _ decision: inout QueueDecision
  ) {
    var end: TransferResult?
    for effect in effects {
      switch effect {
      case .enqueue: reopen(id, &decision)
      case .dequeue: unschedule(id, &decision)
      case .stop(let deletes): decision.effects.append(.stop(id, deletingBytes: deletes))
      case .discard: decision.effects.append(.discard(id))
      case .startNow: requestStart(of: id, isForced: false, &decision)
      case .force: requestStart(of: id, isForced: true, &decision)
      case .endWait(let beyondLimits): requestStart(of: id, isForced: beyondLimits, &decision)
      case .reportPaused: appendEvent(.paused(by: initiator), of: id, &decision)
      case .reportResumed:
        change(id) { $0.storedState.pausedBy = nil }
        appendEvent(.resumed(by: initiator), of: id, &decision)
      case .reportEnd(let state):
        let own = result.flatMap { $0.state == state ? $0 : nil } ?? TransferResult(state: state)
        self.end(id, own, &decision)
        end = own
      }
    }
    note(id, end, &decision)
    if members.state(of: id) == .removed { remove(id, &decision) }
  }

  /// Checks queued members whose dependencies have changed, and their dependents.
  package mutating func recheck(_ decision: inout QueueDecision) {
    if !toRecheck.isEmpty {
      decision.toRecheck.insert(contentsOf: toRecheck, at: 0)
      toRecheck = []
    }
    while let id = decision.toRecheck.popLast() { scheduleOrBlock(id, &decision) }
  }

  /// Leaves the check to the next decision.
  mutating func recheckLater(_ decision: inout QueueDecision) {
    toRecheck.append(contentsOf: decision.toRecheck)
    decision.toRecheck = []
  }

  /// Places a queued member: schedules it, lets it wait for its dependencies, or ends it.
  mutating func scheduleOrBlock(_ id: TransferID, _ decision: inout QueueDecision) {
    guard let member = members[id], member.state == .queued else { return }
    switch graph.readiness(of: id) {
    case .ready:
      if let time = member.storedState.pendingStartTime {
        return postpone(id, time, &decision)
      }
      // A postponed member waits for something else as well.
      guard !member.isScheduled, !member.isPostponed else { return }
      change(id) { $0.isScheduled = true }
      decision.effects.append(.enqueue(id))
    case .waiting(let other):
      block(id, &decision)
      decision.effects.append(.waits(id, on: other, isBlocked: false))
    case .blocked(let other):
      block(id, &decision)
      decision.effects.append(.waits(id, on: other, isBlocked: true))
    case .skipped(let other):
      let error = TransferError(.dependencyFailed, "the dependency \(other) was not completed")
      perform(
        change(id) { $0.machine.skip() } ?? [], on: id, by: .user,
        TransferResult(state: .failed, error: error), &decision)
    }
  }

  /// Lets a member wait for its start time.
  private mutating func postpone(
    _ id: TransferID, _ time: Double, _ decision: inout QueueDecision
  ) {
    unschedule(id, &decision)
    change(id) { $0.isPostponed = true }
    decision.effects.append(.postpone(id, until: time))
  }

  /// A member that waits for a dependency waits for its start time only afterwards.
  private mutating func block(_ id: TransferID, _ decision: inout QueueDecision) {
    unschedule(id, &decision)
    if members.hasWaitReason(id) {
      change(id) { if $0.storedState.startTime != nil { $0.isPostponed = false } }
    }
  }

  /// Adds the stored state of a member, and its result, to the decision.
  /// - Parameter keepsRankAndPriority: whether rank and priority are unchanged.
  func note(
    _ id: TransferID, _ result: TransferResult?, _ decision: inout QueueDecision,
    keepsRankAndPriority: Bool = true
  ) {
    guard let storedState = members.stateToStore(of: id) else { return }
    decision.note(id, storedState, result, keepsRankAndPriority: keepsRankAndPriority)
  }

  mutating func appendEvent(
    _ kind: TransferEvent.Kind, of id: TransferID, _ decision: inout QueueDecision
  ) {
    lastEvent += 1
    decision.events.append(StoredEvent(number: lastEvent, id: id, kind: kind))
  }

  /// Ends a wait for the next attempt, and puts it before others until it ends. An earlier request
  /// of the same kind keeps its place.
  private mutating func requestStart(
    of id: TransferID, isForced: Bool, _ decision: inout QueueDecision
  ) {
    if members[id]?.storedState.startRequest?.isForced != isForced {
      lastStartRequest += 1
      let request = StartRequest(number: lastStartRequest, isForced: isForced)
      change(id) { $0.storedState.startRequest = request }
    }
    endWait(id, &decision)
    guard let member = members[id], let request = member.storedState.startRequest,
      member.isScheduled || member.state == .running
    else { return }
    decision.effects.append(.requestStart(id, request))
  }

  mutating func unschedule(_ id: TransferID, _ decision: inout QueueDecision) {
    guard members[id]?.isScheduled == true else { return }
    change(id) { $0.isScheduled = false }
    decision.effects.append(.unschedule(id))
  }

  /// Queues a member, perhaps after an end.
  private mutating func reopen(_ id: TransferID, _ decision: inout QueueDecision) {
    if let end = members[id]?.end {
      change(id) { $0.end = nil }
      reclaimTarget(of: id)
      if let group = members[id]?.group { groups.requeued(group, from: end) }
      decision.toRecheck.append(contentsOf: graph.requeued(id))
    }
    // The same command may requeue its dependency too.
    if case .skipped = graph.readiness(of: id) { return decision.toRecheck.append(id) }
    scheduleOrBlock(id, &decision)
  }

  private mutating func end(
    _ id: TransferID, _ result: TransferResult, _ decision: inout QueueDecision
  ) {
    let former = change(id) { member in
      defer {
        member.end = result.state
        member.dropWaitReason()
      }
      return (end: member.end, group: member.group)
    }
    let index = decision.events.count
    appendEvent(.finished(result), of: id, &decision)
    decision.effects.append(.ended(id, result))
    if let group = former?.group {
      // If a failed transfer is cancelled, its group has already counted an end.
      if let end = former?.end { groups.requeued(group, from: end) }
      let isComplete = groups.ended(group, result.state)
      if isComplete, former?.end == nil {
        decision.effects.append(.groupEnded(group))
        decision.events[index].groupEnd = groups.end(of: group)
      }
    }
    decision.toRecheck.append(contentsOf: graph.ended(id, result.state.dependencyEnd))
  }

  private mutating func remove(_ id: TransferID, _ decision: inout QueueDecision) {
    guard let member = removeMember(id) else { return }
    leaveGroup(of: member, &decision)
    if let identifier = member.identifier { identifiers[identifier] = nil }
    targets.removed(id)
    let dependents = graph.remove(id)
    if member.end == .completed, !dependents.isEmpty { decision.satisfiedDependencies.append(id) }
    decision.toRecheck.append(contentsOf: dependents)
    appendEvent(.removed, of: id, &decision)
    decision.remove(id)
  }
}

extension QueueMachine {
  /// No longer counts a member in its group, which that may complete.
  mutating func leaveGroup(of member: QueuedMember, _ decision: inout QueueDecision) {
    guard let group = member.group else { return }
    let isComplete = groups.removed(group, member.end)
    if isComplete || groups.counts(of: group) == nil {
      decision.effects.append(.groupEnded(group))
    }
  }
}

extension TransferResult.State {
  var dependencyEnd: DependencyGraph.End {
    switch self {
    case .completed: .completed
    case .failed: .failed
    case .cancelled: .cancelled
    }
  }
}
