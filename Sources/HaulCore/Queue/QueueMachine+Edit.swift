/// Changes the request of a member.
extension QueueMachine {
  /// Gives a member another request, which counts from its next run on. A member that runs may only
  /// get another rate limit, priority or group, which count at once, and other header fields.
  /// - Parameters:
  ///   - names: the paths of its file by the old and the new request, if known.
  ///   - mayHaveBytes: whether an earlier run may have left bytes on disk.
  /// - Returns: the refusal, if it must stop first or is gone.
  /// - Throws: `dependency-failed`, `in-use` as `add`; `refused` if a fixed field would change.
  ///   Nothing has changed then.
  package mutating func set(
    _ request: TransferRequest, of record: TransferRecord,
    names: (old: String?, new: String?), mayHaveBytes: Bool, _ decision: inout QueueDecision
  ) throws(TransferError) -> CommandRefusal? {
    let id = record.id
    guard let member = members[id] else { return .isUnknown }
    if member.state.refusalOfChange == .isRunning,
      record.request.mayBecomeWhileRunning(request)
    {
      changeRunning(member, request, &decision)
      return nil
    }
    if let refusal = member.state.refusalOfChange { return refusal }
    try record.request.permits(request)
    if member.end != nil, request.startSeconds != record.request.startSeconds,
      request.startTime != nil
    {
      throw TransferError(
        .refused,
        "it has ended, and a start time is for a transfer that waits",
        advice: "retry or restart it, pause it, and set the time then")
    }
    if member.end != nil, request.repetition != nil, request.repetition != record.request.repetition
    {
      throw TransferError(
        .refused, "it has ended, and only a transfer that waits or runs is repeated",
        advice: "add it again")
    }
    if member.machine.hasRun, mayHaveBytes,
      names.old != names.new || record.request.mayGetAnotherName(by: request)
    {
      throw TransferError(
        .refused,
        "the new address gives the file another name, and its bytes have the old one",
        advice: "say that it is the same file, or remove it, and add the new address"
      ).remedied(by: .sameResource)
    }
    let file = (old: record.request.exactTarget, new: request.exactTarget)
    if file.new != file.old { try refuseTakenTarget(of: request, for: id) }
    var changed = request
    // Its old dependencies may no longer be in the list.
    let old = Set(record.request.dependencies.compactMap(\.id))
    let identifiers = identifiers
    changed.dependencies = try resolve(request.dependencies, old) { identifiers[$0] }
    let node = DependencyGraph.Node(
      id: id, after: changed.dependencies.compactMap(\.id), policy: changed.whenDependencyFails)
    do {
      try graph.set(node) { members.dependencyEnd(of: $0) }
    } catch {
      throw TransferError(.dependencyFailed, Self.text(error) { members[$0]?.identifier })
    }
    if file.new != file.old {
      if let old = file.old { targets.release(old, of: id) }
      if let new = file.new { take(new, for: id) }
    }
    // An unchanged start time does not begin to count again; a new one counts from now on.
    let isUnchanged = request.startSeconds == record.request.startSeconds
    let startTime = isUnchanged ? member.storedState.startTime : request.startTime
    if !isUnchanged, startTime != nil { change(id) { $0.storedState.startRequest = nil } }
    apply(changed, startingAt: startTime, to: member, &decision)
    // It waited only for its next run.
    if record.request.repetition != nil, request.repetition == nil, member.state == .queued,
      member.storedState.pendingStartTime != nil, isUnchanged, let result = record.result
    {
      stopRepeating(id, result, &decision)
    }
    return nil
  }

  private mutating func changeRunning(
    _ member: QueuedMember, _ request: TransferRequest, _ decision: inout QueueDecision
  ) {
    let id = member.id
    if request.group != member.group {
      leaveGroup(of: member, for: request.group, &decision)
      move(id, toHost: member.host, group: request.group)
    }
    change(id) {
      $0.storedState.priority = request.priority
      $0.isIdempotent = request.work.repetition.isIdempotent
    }
    decision.effects.append(.rearrange(id))
    decision.effects.append(.limitRate(id, request.rateLimit))
    decision.effects.append(.changeRepetition(id, request.repetition))
    note(id, nil, &decision, keepsRankAndPriority: false)
    decision.set(request, of: id)
  }

  private mutating func apply(
    _ request: TransferRequest, startingAt startTime: Double?, to member: QueuedMember,
    _ decision: inout QueueDecision
  ) {
    let id = member.id
    let host = request.host
    let hostPause = host == member.host ? member.storedState.hostPause : nil
    // The scheduler has it under its host.
    if host != member.host { unschedule(id, &decision) }
    if request.group != member.group { leaveGroup(of: member, for: request.group, &decision) }
    if host != member.host || request.group != member.group {
      move(id, toHost: host, group: request.group)
    }
    change(id) {
      $0.whenDependencyFails = request.whenDependencyFails
      $0.isIdempotent = request.work.repetition.isIdempotent
      $0.storedState.priority = request.priority
    }
    // The change may remove the cause of a failed attempt.
    change(id) {
      $0.isPostponed = false
      $0.storedState.waitReason =
        startTime.map { .startTime(until: $0) } ?? hostPause.map { .hostBackOff(until: $0) }
    }
    scheduleOrBlock(id, &decision)
    decision.effects.append(.changeRepetition(id, request.repetition))
    decision.effects.append(.rearrange(id))
    note(id, nil, &decision, keepsRankAndPriority: false)
    decision.set(request, of: id)
    recheck(&decision)
  }

  private mutating func leaveGroup(
    of member: QueuedMember, for group: String?, _ decision: inout QueueDecision
  ) {
    leaveGroup(of: member, &decision)
    guard let group else { return }
    groups.added(group)
    if let end = member.end { _ = groups.ended(group, end) }
  }
}

extension TransferMachine.State {
  fileprivate var refusalOfChange: CommandRefusal? {
    switch self {
    case .running, .stopping: .isRunning
    case .removed: .isUnknown
    case .queued, .paused, .failed, .completed, .cancelled: nil
    }
  }
}

extension TransferRequest {
  /// Whether nothing else differs than what a running transfer may get.
  fileprivate func mayBecomeWhileRunning(_ other: TransferRequest) -> Bool {
    var copy = self
    (copy.priority, copy.group) = (other.priority, other.group)
    copy.rateLimit = other.rateLimit
    (copy.headers, copy.bearerFile) = (other.headers, other.bearerFile)
    copy.repetition = other.repetition
    return copy == other
  }

  /// Whether the file may get another name, although the target is the same.
  fileprivate func mayGetAnotherName(by other: TransferRequest) -> Bool {
    guard let old = download, let new = other.download else { return false }
    return old.ifExists != new.ifExists || old.usesSuggestedName != new.usesSuggestedName
  }

  /// - Throws: `refused` if the other request changes a fixed field.
  fileprivate func permits(_ other: TransferRequest) throws(TransferError) {
    let what: String? =
      if identifier != other.identifier {
        "its identifier"
      } else if roots == nil, other.roots != nil {
        "over TCP, what was added over the socket"
      } else if kind != other.kind {
        "whether it is a download, an upload or a step"
      } else if (download?.destination == .stream) != (other.download?.destination == .stream) {
        "whether it is read or saved"
      } else {
        nil
      }
    if let what { throw TransferError(.refused, "\(what) cannot be changed") }
  }
}
