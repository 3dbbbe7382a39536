/// All members of the queue, and the consequences of each change. It starts and stores nothing: a
/// decision says what to store, and what to do afterwards.
package struct QueueMachine: Sendable {
  package private(set) var members = MemberList()
  package var groups = GroupProgress()
  /// Members that run, are being stopped, or wait for a slot. Paused members and those with unmet
  /// dependencies do not count.
  package private(set) var outstandingCount = 0
  var graph = DependencyGraph()
  var identifiers = OverlayDictionary<String, TransferID>()
  var targets = PathReservations()
  var ranks = RankRange()
  /// Members whose dependencies have changed; the next decision checks them.
  package internal(set) var toRecheck: [TransferID] = []
  /// The stored members, in list order, until they are taken.
  var stored: [TransferID] = []
  /// The number of the newest requested start; 0 before the first.
  var lastStartRequest: Int64 = 0
  /// The number of the newest state change; 0 before the first.
  package internal(set) var lastEvent = 0

  /// A queue without members.
  package init() {}

  /// A queue with these members, without dependencies.
  init(_ memberTable: CompactTransferTable) {
    var memberTable = memberTable
    memberTable.index()
    lastStartRequest = memberTable.lastStartRequest
    members = MemberList(memberTable)
    memberTable.forEachSummary { rank, group, end, isOutstanding in
      outstandingCount += isOutstanding ? 1 : 0
      ranks.note(rank)
      guard let group else { return }
      groups.added(group)
      if let end { _ = groups.ended(group, end) }
    }
    identifiers = OverlayDictionary(memberTable.idsByIdentifier)
  }

  /// The member with an identifier of the caller.
  package func id(of identifier: String) -> TransferID? { identifiers[identifier] }

  /// These members in the order in which a command must reach them. The queue decides other things
  /// between its portions, and a dependent that is resumed before its dependency fails again then.
  package func order(_ ids: [TransferID], for command: TransferMachine.Command) -> [TransferID] {
    [.resume, .retry, .restart].contains(command) ? graph.sorted(ids) : ids
  }

  /// Applies a command to each of these members; those that refuse it stay unchanged. O(members
  /// concerned).
  /// - Parameters:
  ///   - isLast: whether it is the last portion. Dependents are checked only then, because they may
  ///     be in a later portion.
  ///   - waitsForSlot: whether the run of a running member has released its slot.
  /// - Returns: the members that refused, and why.
  package mutating func handle(
    _ command: TransferMachine.Command, _ ids: some Sequence<TransferID>,
    by initiator: TransferEvent.Initiator, isLast: Bool = true,
    waitsForSlot: (TransferID) -> Bool = { _ in false }, _ decision: inout QueueDecision
  ) -> [TransferID: CommandRefusal] {
    var refusals: [TransferID: CommandRefusal] = [:]
    for id in ids {
      if let refusal = targetRefusal(of: id, command) {
        refusals[id] = refusal
        continue
      }
      switch change(id, { $0.machine.handle(command) }) {
      case nil: if command != .remove { refusals[id] = .isUnknown }
      case .unchanged: continue
      case .refused(let why): refusals[id] = why
      case .done(let effects):
        // A run with a slot waits for nothing.
        if case .endWait? = effects.first, !waitsForSlot(id) { continue }
        if command == .pause { change(id) { $0.storedState.pausedBy = initiator } }
        if command == .requeue || command == .restart { withdrawStart(of: id) }
        // A command ends the wait for the next attempt or for a wait reason; only a start, that for
        // its start time.
        let keepsWaiting = members.hasWaitReason(id) && keepsStartTime(id)
        perform(effects, on: id, by: initiator, nil, &decision)
        if !keepsWaiting { waitEnded(id, &decision) }
      }
    }
    if isLast { recheck(&decision) } else { recheckLater(&decision) }
    return refusals
  }

  /// A member that stops to be requeued gives up its requested start: it has no precedence now.
  mutating func withdrawStart(of id: TransferID) {
    change(id) { if $0.state == .stopping(.requeue) { $0.storedState.startRequest = nil } }
  }

  /// Drops its wait reason, except a pause of its host, and a start time: a start is withdrawn by a
  /// pause, after which the time counts again.
  private mutating func keepsStartTime(_ id: TransferID) -> Bool {
    change(id) { member in
      let isKept = member.storedState.startTime != nil
      if !isKept { member.dropWaitReason() }
      return isKept
    } ?? false
  }

  /// Starts a member that gets a slot; nil if it no longer needs one.
  /// - Parameter isDurable: whether the store outlives the process; only then a download is noted
  ///   as started.
  package mutating func granted(
    _ id: TransferID, isDurable: Bool = true, _ decision: inout QueueDecision
  ) -> TransferMachine.Grant? {
    var isNoted = isDurable
    let grant = change(id) { (member: inout QueuedMember) -> TransferMachine.Grant? in
      if member.storesStart { isNoted = true }
      // It may have got a dependency after it was scheduled.
      guard member.isScheduled else { return nil }
      let grant = member.machine.granted()
      guard grant != nil else { return nil }
      member.isScheduled = false
      member.storedState.waitReason = nil
      return grant
    }
    if isNoted, members.state(of: id) == .running { note(id, nil, &decision) }
    return grant ?? nil
  }

  /// Notes that its run has ended, and that nothing of it remains.
  /// - Parameters:
  ///   - initiator: what caused a pause without a command.
  ///   - next: when it runs again, in seconds since 1970; nil if it does not repeat.
  package mutating func ended(
    _ id: TransferID, _ end: TransferMachine.RunEndKind, _ result: TransferResult?,
    by initiator: TransferEvent.Initiator, repeatingAt next: Double? = nil,
    _ decision: inout QueueDecision
  ) {
    let isPausing = members.state(of: id) == .stopping(.pause)
    let change = change(id) { member in
      let effects = member.machine.ended(end)
      let pausedBy = member.storedState.pausedBy ?? initiator
      member.storedState.pausedBy = member.state == .paused ? pausedBy : nil
      return (effects, pausedBy)
    }
    guard let (effects, pausedBy) = change else { return }
    perform(effects, on: id, by: pausedBy, result, &decision)
    // A restart came during publication: the next run replaces the file.
    if end == .completed, members.state(of: id) == .queued { note(id, result, &decision) }
    if let next { repeats(id, at: next, pausedBy: isPausing ? pausedBy : nil, &decision) }
    recheck(&decision)
  }

  /// Notes that its run has discarded the old bytes.
  package mutating func startedOver(_ id: TransferID, _ decision: inout QueueDecision) {
    change(id) { $0.machine.startedOver() }
    note(id, nil, &decision)
  }

  /// A copy that shares the contents and stores its own changes. O(1).
  var draft: QueueMachine {
    var draft = self
    draft.members.becomeDraft()
    draft.groups.groups.becomeDraft()
    draft.graph.becomeDraft()
    draft.identifiers.becomeDraft()
    draft.targets.becomeDraft()
    return draft
  }

  /// Applies a draft of this queue.
  mutating func apply(
    _ members: MemberList.Layer, _ rest: QueueChanges.CopiedState
  ) {
    self.members.apply(members)
    (outstandingCount, ranks, toRecheck, lastEvent) = (
      rest.outstandingCount, rest.ranks, rest.toRecheck, rest.lastEvent
    )
    lastStartRequest = rest.lastStartRequest
  }

  /// Changes one member. Only this updates `outstandingCount` and withdraws a requested start.
  @discardableResult
  mutating func change<Result>(
    _ id: TransferID, _ body: (inout QueuedMember) -> Result
  ) -> Result? {
    var more = 0
    let result = members.change(id) { member in
      more -= member.isOutstanding ? 1 : 0
      defer {
        more += member.isOutstanding ? 1 : 0
        if member.storedState.startRequest != nil, !member.keepsStartRequest {
          member.storedState.startRequest = nil
        }
      }
      return body(&member)
    }
    outstandingCount += more
    return result
  }

  /// Notes that its host or its group has changed.
  mutating func move(_ id: TransferID, toHost host: String?, group: String?) {
    members.move(id, toHost: host, group: group)
  }

  /// Counts a stored member as scheduled, if it waits only for a slot.
  mutating func open(_ id: TransferID, near index: Int) -> CompactTransferTable.Opened {
    let opened = members.open(id, near: index, isReady: graph.readiness(of: id) == .ready)
    if case .slot = opened { outstandingCount += 1 }
    return opened
  }

  mutating func insert(_ member: QueuedMember) {
    outstandingCount += member.isOutstanding ? 1 : 0
    members.put(member)
  }

  /// Removes it, and returns it.
  mutating func removeMember(_ id: TransferID) -> QueuedMember? {
    guard let member = members.remove(id) else { return nil }
    outstandingCount -= member.isOutstanding ? 1 : 0
    return member
  }
}
