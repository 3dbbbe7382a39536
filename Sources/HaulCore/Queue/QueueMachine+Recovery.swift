/// Recovery after a restart.
extension QueueMachine {
  /// The queue as it was stored; nothing runs.
  package init(_ stored: StoredQueue) {
    self.init(stored.memberTable)
    lastEvent = stored.lastEvent
    self.stored = stored.ids
    for (id, target) in stored.targets { take(target, for: id) }
    // The stored dependencies had no cycle.
    try? graph.add(stored.nodes) { members.dependencyEnd(of: $0) }
  }

  /// Schedules the members of a newly opened queue that wait only for a slot, in list order. The
  /// others are left to `takeStored` and `recover`.
  package mutating func scheduleStored(
    _ schedule: (
      TransferID, _ host: String?, TransferRequest.Priority, _ rank: Int64, StartRequest?
    ) -> Void
  ) {
    var rest: [TransferID] = []
    for (index, id) in stored.enumerated() {
      switch open(id, near: index) {
      case .nothing: continue
      case .recovery: rest.append(id)
      case .slot(let host, let priority, let rank, let request):
        schedule(id, host, priority, rank, request)
      }
    }
    stored = rest
  }

  /// The stored members, in list order. A second call returns none.
  package mutating func takeStored() -> [TransferID] {
    defer { stored = [] }
    return stored
  }

  /// Recovers these members of a newly opened queue: schedules waiting ones and carries out pending
  /// commands.
  /// - Parameters:
  ///   - wallSeconds: the present time; members whose next attempt is later continue to wait.
  ///   - stillRunning: steps whose programs still run and could not be ended.
  ///   - isLast: as for `handle`.
  package mutating func recover(
    _ ids: some Sequence<TransferID>, at wallSeconds: Double, stillRunning: Set<TransferID> = [],
    isLast: Bool = true, _ decision: inout QueueDecision
  ) {
    for id in ids {
      switch members.state(of: id) {
      case .queued: recoverQueued(id, at: wallSeconds, stillRunning.contains(id), &decision)
      case .stopping(.pause) where wasInterrupted(id, stillRunning.contains(id)):
        ended(id, .failed, Self.interruptedResult(stillRunning.contains(id)), by: .user, &decision)
      case .stopping(.pause), .stopping(.cancelKeepingBytes):
        ended(id, .paused, nil, by: .user, &decision)
      case .stopping: decision.effects.append(.discard(id))
      default: continue
      }
    }
    if isLast { recheck(&decision) } else { recheckLater(&decision) }
  }

  /// A step that was running when the process died may have done half of its work.
  private mutating func recoverQueued(
    _ id: TransferID, at wallSeconds: Double, _ isStillRunning: Bool,
    _ decision: inout QueueDecision
  ) {
    guard let member = members[id] else { return }
    if let time = member.storedState.retryAt, time > wallSeconds {
      change(id) { ($0.isScheduled, $0.isPostponed) = (false, true) }
      return decision.effects.append(.postpone(id, until: time))
    }
    guard wasInterrupted(id, isStillRunning) else { return scheduleOrBlock(id, &decision) }
    perform(
      change(id) { $0.machine.skip() } ?? [], on: id, by: .user,
      Self.interruptedResult(isStillRunning), &decision)
  }

  /// Whether it is a step that was running when the process died, and must not run again by itself.
  private func wasInterrupted(_ id: TransferID, _ isStillRunning: Bool) -> Bool {
    guard let member = members[id] else { return false }
    return member.storesStart && member.storedState.wasRunning
      && (!member.isIdempotent || isStillRunning)
  }

  private static func interruptedResult(_ isStillRunning: Bool) -> TransferResult {
    let reason =
      isStillRunning ? "; processes that it started still run and could not be ended" : ""
    return TransferResult(
      state: .failed,
      error: TransferError(
        .interrupted, "the program that keeps the list ended while this step ran\(reason)"))
  }
}

/// Retries and suspensions.
extension QueueMachine {
  /// Its run has stopped and resumes by itself: at once if it waits for a slot, otherwise when it
  /// is `waitEnded`. If a command was stopping it, it gets the state of that command.
  package mutating func suspended(
    _ id: TransferID, _ reason: WaitReason, _ decision: inout QueueDecision
  ) {
    guard members.state(of: id) == .running else {
      return ended(id, .suspended, nil, by: .disk, &decision)
    }
    let isScheduled = change(id) { member in
      _ = member.machine.ended(.suspended)
      member.isPostponed = reason != .slot
      if member.isPostponed { member.storedState.waitReason = reason }
      return !member.isPostponed
    }
    if isScheduled == true { scheduleOrBlock(id, &decision) }
    note(id, nil, &decision)
  }

  /// Stops the runs of these members, also of forced ones; they resume by themselves when they may.
  package mutating func suspend(
    _ ids: some Sequence<TransferID>, _ decision: inout QueueDecision
  ) {
    for id in ids {
      guard change(id, { $0.machine.suspend() }) == true else { continue }
      withdrawStart(of: id)
      decision.effects.append(.stop(id, deletingBytes: false))
    }
  }

  /// Notes that its run waits for its next attempt, or that its host asked for a pause, also across
  /// a restart of the program. A pause that is not over is kept: it holds for others too.
  /// - Parameter wallSeconds: the present time.
  package mutating func noteWait(
    of id: TransferID, _ reason: WaitReason, at wallSeconds: Double,
    _ decision: inout QueueDecision
  ) {
    // A command may have come meanwhile.
    guard let member = members[id], member.state == .running else { return }
    if let pause = member.storedState.hostPause, pause > wallSeconds {
      guard case .hostBackOff(let until) = reason, until > pause else { return }
    }
    change(id) { $0.storedState.waitReason = reason }
    note(id, nil, &decision)
  }

  /// The pauses that hosts asked for, as they are stored, by the ends in seconds since 1970. A host
  /// may occur several times. For a draft: without its changes.
  package var hostPauses: [(host: String, until: Double)] { members.hostPauses }

  /// It should start over, but found a file that an earlier run had published without storing its
  /// end. It is requeued, and its next run replaces that file.
  package mutating func alreadyPublished(
    _ id: TransferID, _ result: TransferResult, _ decision: inout QueueDecision
  ) {
    suspended(id, .slot, &decision)
    note(id, result, &decision)
  }

  /// Ends the wait of a member. Has no effect if it was started, paused or ended meanwhile.
  package mutating func waitEnded(_ id: TransferID, _ decision: inout QueueDecision) {
    guard members.isPostponed(id) else { return }
    change(id) { $0.storedState.waitReason = nil }
    endWait(id, &decision)
  }

  /// The same for a member that was started; its start time would count again after a pause.
  mutating func endWait(_ id: TransferID, _ decision: inout QueueDecision) {
    guard members.isPostponed(id) else { return }
    change(id) { member in
      member.isPostponed = false
      if member.storedState.startTime == nil { member.storedState.waitReason = nil }
    }
    scheduleOrBlock(id, &decision)
  }
}
