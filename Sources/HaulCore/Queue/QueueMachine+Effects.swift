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
      case .prefer: prefer(id, .prefer(id), &decision)
      case .force: prefer(id, .force(id), &decision)
      case .endWait(let beyondLimits):
        decision.effects.append(beyondLimits ? .force(id) : .prefer(id))
      case .tellPaused: tell(.paused(by: initiator), of: id, &decision)
      case .tellResumed:
        change(id) { $0.facts.storedState.pausedBy = nil }
        tell(.resumed(by: initiator), of: id, &decision)
      case .tellEnd(let state):
        let own = result.flatMap { $0.state == state ? $0 : nil } ?? TransferResult(state: state)
        self.end(id, own, &decision)
        end = own
      }
    }
    note(id, end, &decision)
    if members.state(of: id) == .removed { remove(id, &decision) }
  }

  /// Checks queued members whose dependencies have changed, and their dependents.
  package mutating func settle(_ decision: inout QueueDecision) {
    if !unsettled.isEmpty {
      decision.concerned.insert(contentsOf: unsettled, at: 0)
      unsettled = []
    }
    while let id = decision.concerned.popLast() { place(id, &decision) }
  }

  /// Leaves the check to the next decision.
  mutating func settleLater(_ decision: inout QueueDecision) {
    unsettled.append(contentsOf: decision.concerned)
    decision.concerned = []
  }

  /// Places a queued member: with the scheduler, behind its dependencies, or at its end.
  mutating func place(_ id: TransferID, _ decision: inout QueueDecision) {
    guard let member = members[id], member.state == .queued else { return }
    switch graph.verdict(of: id) {
    case .ready:
      // It waits for something else as well.
      guard !member.isScheduled, !member.isPostponed else { return }
      change(id) { $0.isScheduled = true }
      decision.effects.append(.enqueue(id))
    case .waiting(let other):
      unschedule(id, &decision)
      decision.effects.append(.waits(id, on: other, isBlocked: false))
    case .blocked(let other):
      unschedule(id, &decision)
      decision.effects.append(.waits(id, on: other, isBlocked: true))
    case .skipped(let other):
      let error = TransferError(.dependencyFailed, "the dependency \(other) was not completed")
      perform(
        change(id) { $0.machine.skip() } ?? [], on: id, by: .user,
        TransferResult(state: .failed, error: error), &decision)
    }
  }

  /// - Parameter keepsPlace: whether rank and priority are unchanged.
  func note(
    _ id: TransferID, _ result: TransferResult?, _ decision: inout QueueDecision,
    keepsPlace: Bool = true
  ) {
    guard let storedState = members.storedState(of: id) else { return }
    decision.note(id, storedState, result, keepsPlace: keepsPlace)
  }

  mutating func tell(
    _ kind: TransferEvent.Kind, of id: TransferID, _ decision: inout QueueDecision
  ) {
    lastEvent += 1
    decision.events.append(StoredEvent(number: lastEvent, id: id, kind: kind))
  }

  /// A wait for the next attempt ends.
  private mutating func prefer(
    _ id: TransferID, _ effect: QueueDecision.Effect, _ decision: inout QueueDecision
  ) {
    due(id, &decision)
    if members[id]?.isScheduled == true { decision.effects.append(effect) }
  }

  mutating func unschedule(_ id: TransferID, _ decision: inout QueueDecision) {
    guard members[id]?.isScheduled == true else { return }
    change(id) { $0.isScheduled = false }
    decision.effects.append(.unschedule(id))
  }

  /// It is queued, perhaps after an end.
  private mutating func reopen(_ id: TransferID, _ decision: inout QueueDecision) {
    if let end = members[id]?.end {
      change(id) { $0.end = nil }
      takeBackTarget(of: id)
      if let group = members[id]?.facts.group { groups.reopened(group, from: end) }
      decision.concerned.append(contentsOf: graph.revived(id))
    }
    // The same command may queue its dependency again.
    if case .skipped = graph.verdict(of: id) { return decision.concerned.append(id) }
    place(id, &decision)
  }

  private mutating func end(
    _ id: TransferID, _ result: TransferResult, _ decision: inout QueueDecision
  ) {
    let former = change(id) { member in
      defer { (member.end, member.facts.storedState.waitReason) = (result.state, nil) }
      return (end: member.end, group: member.facts.group)
    }
    tell(.finished(result), of: id, &decision)
    decision.effects.append(.ended(id, result))
    if let group = former?.group {
      // A cancelled transfer that had failed had already ended: its group has counted it.
      if let end = former?.end { groups.reopened(group, from: end) }
      let isComplete = groups.ended(group, result.state)
      if isComplete, former?.end == nil { decision.effects.append(.groupEnded(group)) }
    }
    decision.concerned.append(contentsOf: graph.ended(id, result.state.dependencyEnd))
  }

  private mutating func remove(_ id: TransferID, _ decision: inout QueueDecision) {
    guard let member = takeOut(id) else { return }
    if let group = member.facts.group {
      let isComplete = groups.removed(group, member.end)
      if isComplete || groups.counts(of: group) == nil {
        decision.effects.append(.groupEnded(group))
      }
    }
    if let identifier = member.facts.identifier { identifiers[identifier] = nil }
    targets.removed(id)
    let dependents = graph.remove(id)
    if member.end == .completed, !dependents.isEmpty { decision.satisfied.append(id) }
    decision.concerned.append(contentsOf: dependents)
    tell(.removed, of: id, &decision)
    decision.remove(id)
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
