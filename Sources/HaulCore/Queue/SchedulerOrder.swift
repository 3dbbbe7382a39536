/// What a person may say of the order. None of it has an effect on an unknown transfer.
extension Scheduler {
  /// Gives a transfer another place inside its priority; among equal ranks those known for longer
  /// go first. One that runs keeps its slot: the place counts when it is queued again.
  package mutating func move(_ id: TransferID, to rank: Int64) {
    guard let number = members.number(of: id) else { return }
    lastRank = max(lastRank, rank)
    members[number].rank = rank
    let member = members[number]
    guard member.phase == .queued else { return }
    hosts.states[member.host].queues[member.level.rawValue]
      .update(at: member.position, in: &members)
    refresh(member.host)
  }

  /// Gives a transfer another priority; its rank stays. One that runs keeps its slot.
  package mutating func setPriority(_ id: TransferID, _ priority: TransferRequest.Priority) {
    guard let number = members.number(of: id), members[number].priority != priority else { return }
    relane(number) { members in members[number].priority = priority }
  }

  /// "Start now": it goes before all others of every priority until it has started, and respects
  /// every limit. Of several the first called is the first. It takes no turn from its priority.
  ///
  /// A paused one is not queued by it, but when `add` queues it again the word holds. No effect on
  /// one that runs. A host that gave no answer may be asked at once; one that asked for a pause has
  /// it.
  package mutating func starts(_ id: TransferID) { call(id, .express) }

  /// Starts with the next `next(at:)`, even beyond the limits on active transfers and active per
  /// host, and while the queue is suspended. It counts as active, so that nothing else starts until
  /// fewer than the limit are.
  ///
  /// What a server was promised still holds: it waits for the pause of its host to end and for a
  /// free connection, and until it has one, nobody who runs is granted a further one of those that
  /// it waits for. A paused one is not queued by it, as with `starts`.
  package mutating func force(_ id: TransferID) { call(id, .forced) }

  /// Whether it is known, and neither waits for a slot nor has one.
  package func isPaused(_ id: TransferID) -> Bool { members.member(id)?.phase == .paused }

  /// The priority of a transfer; nil when it is unknown.
  package func priority(of id: TransferID) -> TransferRequest.Priority? {
    members.member(id)?.priority
  }

  /// The rank of a transfer inside its priority; nil when it is unknown.
  package func rank(of id: TransferID) -> Int64? { members.member(id)?.rank }

  private mutating func call(_ id: TransferID, _ call: Member.Call) {
    guard let number = members.number(of: id) else { return }
    let member = members[number]
    guard member.phase == .queued || member.phase == .paused else { return }
    if member.call != call { relane(number) { members in members.call(number, call) } }
    guard hosts.states[member.host].outage?.until != nil else { return }
    hosts.states[member.host].outage?.until = nil
    refresh(member.host)
  }

  /// Changes what says in which lane a member queues.
  private mutating func relane(_ number: Int32, _ change: (inout TransferTable) -> Void) {
    let old = members[number]
    guard old.phase == .queued else { return change(&members) }
    hosts.states[old.host].queues[old.level.rawValue].remove(at: old.position, in: &members)
    change(&members)
    hosts.states[old.host].insert(number, members[number].level, in: &members)
    refresh(old.host)
  }
}
