/// Members that run again after each end.
extension QueueMachine {
  /// Queues a member for its next run, in the decision about the end of the last one: it is never
  /// stored as ended.
  /// - Parameter pausedBy: what has paused it meanwhile; nil if nothing has.
  mutating func repeats(
    _ id: TransferID, at time: Double, pausedBy: TransferEvent.Initiator?,
    _ decision: inout QueueDecision
  ) {
    guard let end = members[id]?.end, end != .cancelled else { return }
    if end == .completed { satisfyDependents(of: id, &decision) }
    change(id) { $0.storedState.waitReason = .startTime(until: time) }
    perform(change(id) { $0.machine.repeats() } ?? [], on: id, by: .user, nil, &decision)
    if let pausedBy { _ = handle(.pause, [id], by: pausedBy, isLast: false, &decision) }
  }

  /// Its dependents need no later run of it, also after a restart.
  private mutating func satisfyDependents(of id: TransferID, _ decision: inout QueueDecision) {
    let dependents = graph.satisfyDependents(of: id)
    guard !dependents.isEmpty else { return }
    decision.satisfiedDependencies.append(id)
    decision.toRecheck.append(contentsOf: dependents)
  }

  /// Brings its next run forward: the clock was set back, and its time would come too late. A first
  /// run, whose time its owner may have chosen, is not moved.
  package mutating func replan(
    _ id: TransferID, at time: Double, _ decision: inout QueueDecision
  ) {
    guard let member = members[id], member.state == .queued, member.machine.hasRun,
      let old = member.storedState.pendingStartTime, old > time
    else { return }
    change(id) { $0.storedState.waitReason = .startTime(until: time) }
    scheduleOrBlock(id, &decision)
    note(id, nil, &decision)
  }

  /// Ends a member that waits for its next run and no longer repeats: as its last run has ended.
  mutating func stopRepeating(
    _ id: TransferID, _ result: TransferResult, _ decision: inout QueueDecision
  ) {
    change(id) { ($0.isPostponed, $0.storedState.waitReason) = (false, nil) }
    perform(
      change(id) { $0.machine.stopRepeating(as: result.state) } ?? [], on: id, by: .user, result,
      &decision)
    recheck(&decision)
  }
}
