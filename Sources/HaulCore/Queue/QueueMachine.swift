/// Every member of the queue, and what follows for all of them from what happens to one. It starts
/// nothing and stores nothing: a decision says what is to be stored, and what is to be done once it
/// is.
package struct QueueMachine: Sendable {
  package struct Member: Sendable {
    var machine: TransferMachine
    package internal(set) var facts: QueuedMember
    /// Whether it is queued and waits for a slot only: the scheduler's business.
    package internal(set) var isScheduled = false
    /// Whether it is queued and waits for what its standing says, until it is `due`.
    var isPostponed = false
    /// The end that was told of it, until it is queued again.
    package internal(set) var end: TransferResult.State?

    package var state: TransferMachine.State { machine.state }

    /// What it waits for while it is queued. Nil behind other members: the graph knows which.
    package var waiting: WaitReason? {
      isScheduled ? .slot : isPostponed ? facts.storedState.waitReason : nil
    }

    /// As it is to be stored.
    var storedState: StoredState {
      var storedState = facts.storedState
      machine.write(into: &storedState)
      return storedState
    }

    /// Whether something goes on, or will by itself.
    var isBusy: Bool { Self.isBusy(state, isAwaited: isScheduled || isPostponed) }

    /// - Parameter isAwaited: whether it is to start when there is a slot, or at some time.
    static func isBusy(_ state: TransferMachine.State, isAwaited: Bool) -> Bool {
      switch state {
      case .queued: isAwaited
      case .running, .stopping: true
      case .paused, .failed, .completed, .cancelled, .removed: false
      }
    }
  }

  package private(set) var members = MemberList()
  package var groups = GroupProgress()
  /// Members that run, are being stopped, or wait for a slot. Those that are paused, or wait for
  /// others, are not counted.
  package private(set) var busy = 0
  var graph = DependencyGraph()
  var identifiers = OverlayDictionary<String, TransferID>()
  var targets = PathReservations()
  var ranks = RankRange()
  /// Members whose dependencies have changed, to be looked at with the next decision.
  package internal(set) var unsettled: [TransferID] = []
  /// The members that were stored, in the order of the list, until they are taken.
  var stored: [TransferID] = []
  /// The number of the newest state change; 0 before the first.
  package internal(set) var lastEvent = 0

  /// A queue without members.
  package init() {}

  /// A queue with these members, none of which waits for another.
  init(_ shelf: CompactTransferTable) {
    var shelf = shelf
    shelf.index()
    members = MemberList(shelf)
    shelf.tell { facts, end, isBusy in
      busy += isBusy ? 1 : 0
      ranks.note(facts.rank)
      guard let group = facts.group else { return }
      groups.added(group)
      if let end { _ = groups.ended(group, end) }
    }
    identifiers = OverlayDictionary(shelf.idsByIdentifier)
  }

  /// The member that has an identifier of the caller's.
  package func id(of identifier: String) -> TransferID? { identifiers[identifier] }

  /// Carries a command out on each of these; those that refuse it stay as they are. O(members
  /// concerned).
  /// - Parameter isLast: whether it is the last portion. Dependents are looked at again only then,
  ///   as they may be in a later one.
  /// - Returns: who refused, and why.
  package mutating func handle(
    _ command: TransferMachine.Command, _ ids: some Sequence<TransferID>,
    by initiator: TransferEvent.Initiator, isLast: Bool = true, _ decision: inout QueueDecision
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
        if command == .pause { change(id) { $0.facts.storedState.pausedBy = initiator } }
        // A command ends the wait for the next attempt, and for what was in the way.
        if members.hasWaitReason(id) { change(id) { $0.facts.storedState.waitReason = nil } }
        perform(effects, on: id, by: initiator, nil, &decision)
        due(id, &decision)
      }
    }
    if isLast { settle(&decision) } else { settleLater(&decision) }
    return refusals
  }

  /// A slot is there for it. Nil when it does not want it any more.
  /// - Parameter isDurable: whether what is stored outlives the process: only then a download is
  ///   noted as begun.
  package mutating func granted(
    _ id: TransferID, isDurable: Bool = true, _ decision: inout QueueDecision
  ) -> TransferMachine.Grant? {
    var isNoted = isDurable
    let grant = change(id) { (member: inout Member) -> TransferMachine.Grant? in
      if member.facts.isStep { isNoted = true }
      // It may have come to wait for another since the scheduler was told of it.
      guard member.isScheduled else { return nil }
      let grant = member.machine.granted()
      if grant != nil { (member.isScheduled, member.facts.storedState.waitReason) = (false, nil) }
      return grant
    }
    if isNoted, members.state(of: id) == .running { note(id, nil, &decision) }
    return grant ?? nil
  }

  /// What ran for it has ended, and nothing of it is left.
  /// - Parameter initiator: who paused it, when no command did.
  package mutating func ended(
    _ id: TransferID, _ end: TransferMachine.RunEnd, _ result: TransferResult?,
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
    // A restart came while the file got its name: the next run is to replace it.
    if end == .completed, members.state(of: id) == .queued { note(id, result, &decision) }
    settle(&decision)
  }

  /// What runs for it has let go of the bytes that it was to forget.
  package mutating func startedOver(_ id: TransferID, _ decision: inout QueueDecision) {
    change(id) { $0.machine.startedOver() }
    note(id, nil, &decision)
  }

  /// The same, sharing what is there, with changes of its own. O(1).
  var draft: QueueMachine {
    var draft = self
    draft.members.becomeDraft()
    draft.groups.groups.becomeDraft()
    draft.graph.becomeDraft()
    draft.identifiers.becomeDraft()
    draft.targets.becomeDraft()
    return draft
  }

  /// Of a draft of this queue.
  mutating func apply(
    _ members: MemberList.Layer, _ rest: QueueChanges.Rest
  ) {
    self.members.apply(members)
    (busy, ranks, unsettled, lastEvent) = (
      rest.busy, rest.ranks, rest.unsettled, rest.lastEvent
    )
  }

  /// Changes one member; the one place where `busy` is counted.
  @discardableResult
  mutating func change<Result>(
    _ id: TransferID, _ body: (inout Member) -> Result
  ) -> Result? {
    var more = 0
    let result = members.change(id) { member in
      more -= member.isBusy ? 1 : 0
      defer { more += member.isBusy ? 1 : 0 }
      return body(&member)
    }
    busy += more
    return result
  }

  /// It is of another host from now on.
  mutating func move(_ id: TransferID, toHost host: String?) { members.move(id, toHost: host) }

  /// Counts one that is stored as scheduled, if it waits for a slot only.
  mutating func open(_ id: TransferID, near place: Int) -> CompactTransferTable.Opened {
    let opened = members.open(id, near: place, isReady: graph.verdict(of: id) == .ready)
    if case .slot = opened { busy += 1 }
    return opened
  }

  mutating func insert(_ member: Member) {
    busy += member.isBusy ? 1 : 0
    members.put(member)
  }

  /// Takes it out; returns what it was.
  mutating func takeOut(_ id: TransferID) -> Member? {
    guard let member = members.remove(id) else { return nil }
    busy -= member.isBusy ? 1 : 0
    return member
  }
}
