/// All members of the queue, and the consequences of each change. It starts and stores nothing: a
/// decision says what to store, and what to do afterwards.
package struct QueueMachine: Sendable {
  package struct Member: Sendable {
    var machine: TransferMachine
    package internal(set) var facts: QueuedMember
    /// Whether it is queued and waits only for a slot, in the scheduler.
    package internal(set) var isScheduled = false
    /// Whether it is queued and has a wait reason, until `waitEnded`.
    var isPostponed = false
    /// The end that was reported, until it is requeued.
    package internal(set) var end: TransferResult.State?

    package var state: TransferMachine.State { machine.state }

    /// Why it waits while it is queued; nil if it waits for dependencies, which the graph has.
    package var waiting: WaitReason? {
      isScheduled ? .slot : isPostponed ? facts.storedState.waitReason : nil
    }

    /// Its state to store.
    var storedState: StoredState {
      var storedState = facts.storedState
      machine.write(into: &storedState)
      return storedState
    }

    /// Whether it runs, or will run by itself.
    var isOutstanding: Bool { Self.isOutstanding(state, willStart: isScheduled || isPostponed) }

    /// Whether a requested start still counts.
    var keepsStartRequest: Bool {
      switch state {
      case .queued, .running, .stopping(.requeue): true
      case .stopping, .paused, .failed, .completed, .cancelled, .removed: false
      }
    }

    /// Drops its wait reason. A pause that its host asked for holds for others too: it stays until
    /// the host lets this member run again.
    mutating func dropWaitReason() {
      if facts.storedState.hostPause == nil { facts.storedState.waitReason = nil }
    }

    /// - Parameter willStart: whether it starts by itself, with a slot or at some time.
    static func isOutstanding(_ state: TransferMachine.State, willStart: Bool) -> Bool {
      switch state {
      case .queued: willStart
      case .running, .stopping: true
      case .paused, .failed, .completed, .cancelled, .removed: false
      }
    }
  }

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
    memberTable.forEachSummary { facts, end, isOutstanding in
      outstandingCount += isOutstanding ? 1 : 0
      ranks.note(facts.rank)
      guard let group = facts.group else { return }
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
        if command == .pause { change(id) { $0.facts.storedState.pausedBy = initiator } }
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
    change(id) { if $0.state == .stopping(.requeue) { $0.facts.storedState.startRequest = nil } }
  }

  /// Drops its wait reason, except a pause of its host, and a start time: a start is withdrawn by a
  /// pause, after which the time counts again.
  private mutating func keepsStartTime(_ id: TransferID) -> Bool {
    change(id) { member in
      let isKept = member.facts.storedState.startTime != nil
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
    let grant = change(id) { (member: inout Member) -> TransferMachine.Grant? in
      if member.facts.storesStart { isNoted = true }
      // It may have got a dependency after it was scheduled.
      guard member.isScheduled else { return nil }
      let grant = member.machine.granted()
      guard grant != nil else { return nil }
      member.isScheduled = false
      member.facts.storedState.waitReason = nil
      return grant
    }
    if isNoted, members.state(of: id) == .running { note(id, nil, &decision) }
    return grant ?? nil
  }

  /// Notes that its run has ended, and that nothing of it remains.
  /// - Parameter initiator: what caused a pause without a command.
  package mutating func ended(
    _ id: TransferID, _ end: TransferMachine.RunEndKind, _ result: TransferResult?,
    by initiator: TransferEvent.Initiator, _ decision: inout QueueDecision
  ) {
    let change = change(id) { member in
      let effects = member.machine.ended(end)
      let pausedBy = member.facts.storedState.pausedBy ?? initiator
      member.facts.storedState.pausedBy = member.state == .paused ? pausedBy : nil
      return (effects, pausedBy)
    }
    guard let (effects, pausedBy) = change else { return }
    perform(effects, on: id, by: pausedBy, result, &decision)
    // A restart came during publication: the next run replaces the file.
    if end == .completed, members.state(of: id) == .queued { note(id, result, &decision) }
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
    _ id: TransferID, _ body: (inout Member) -> Result
  ) -> Result? {
    var more = 0
    let result = members.change(id) { member in
      more -= member.isOutstanding ? 1 : 0
      defer {
        more += member.isOutstanding ? 1 : 0
        if member.facts.storedState.startRequest != nil, !member.keepsStartRequest {
          member.facts.storedState.startRequest = nil
        }
      }
      return body(&member)
    }
    outstandingCount += more
    return result
  }

  /// Notes that its host has changed.
  mutating func move(_ id: TransferID, toHost host: String?) { members.move(id, toHost: host) }

  /// Counts a stored member as scheduled, if it waits only for a slot.
  mutating func open(_ id: TransferID, near index: Int) -> CompactTransferTable.Opened {
    let opened = members.open(id, near: index, isReady: graph.readiness(of: id) == .ready)
    if case .slot = opened { outstandingCount += 1 }
    return opened
  }

  mutating func insert(_ member: Member) {
    outstandingCount += member.isOutstanding ? 1 : 0
    members.put(member)
  }

  /// Removes it, and returns it.
  mutating func removeMember(_ id: TransferID) -> Member? {
    guard let member = members.remove(id) else { return nil }
    outstandingCount -= member.isOutstanding ? 1 : 0
    return member
  }
}
