/// User commands about the order. They have no effect on an unknown transfer.
extension Scheduler {
  /// Changes a transfer's rank inside its priority. Equal ranks are ordered by age. A running
  /// transfer keeps its slot; the rank counts when it is queued again.
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

  /// Changes the priority of a transfer, not its rank. A running one keeps its slot.
  package mutating func setPriority(_ id: TransferID, _ priority: TransferRequest.Priority) {
    guard let number = members.number(of: id), members[number].priority != priority else { return }
    changeLevel(number) { members in members[number].priority = priority }
  }

  /// "Start now": it precedes all priorities until it has started, within every limit. Several
  /// start in the order of their numbers. It takes no turn from its priority.
  ///
  /// A forced one starts with the next `next(at:)`, even beyond the limits of active transfers in
  /// total and per host, and while the queue is suspended. It counts as active, so nothing else
  /// starts until the number is below the limit. It still waits for the end of its host's pause and
  /// for a free connection. Until then, no running transfer gets an additional connection that it
  /// could use.
  ///
  /// It does not queue a released transfer, but counts when `add` queues it again. It has no effect
  /// on a running one. A host that did not answer may be tried at once; a pause that a host asked
  /// for holds.
  package mutating func requestStart(_ id: TransferID, _ request: StartRequest) {
    guard let number = members.number(of: id), setStartRequest(number, request) else { return }
    let host = members[number].host
    guard hosts.states[host].outage?.until != nil else { return }
    hosts.states[host].outage?.until = nil
    refresh(host)
  }

  /// Queues a retry of a transfer as its start was requested. It tries no silent host before the
  /// others of that host, unless it is forced.
  mutating func continueStart(_ id: TransferID, _ request: StartRequest) {
    guard let number = members.number(of: id),
      request.isForced || members.hostAttempts(of: number) == 0
    else { return }
    _ = setStartRequest(number, request)
  }

  /// - Returns: false if it already has a slot.
  private mutating func setStartRequest(_ number: Int32, _ request: StartRequest) -> Bool {
    let phase = members[number].phase
    guard phase == .queued || phase == .released else { return false }
    changeLevel(number) { members in members.setStartRequest(number, request) }
    return true
  }

  /// Whether it is known and neither waits for a slot nor has one.
  package func isReleased(_ id: TransferID) -> Bool { members.member(id)?.phase == .released }

  /// The priority of a transfer; nil if it is unknown.
  package func priority(of id: TransferID) -> TransferRequest.Priority? {
    members.member(id)?.priority
  }

  /// The rank of a transfer inside its priority; nil if it is unknown.
  package func rank(of id: TransferID) -> Int64? { members.member(id)?.rank }

  /// Changes a value that determines the level of a member.
  private mutating func changeLevel(
    _ number: Int32, _ change: (inout ScheduledTransferTable) -> Void
  ) {
    let old = members[number]
    guard old.phase == .queued else { return change(&members) }
    hosts.states[old.host].queues[old.level.rawValue].remove(at: old.position, in: &members)
    change(&members)
    hosts.states[old.host].insert(number, members[number].level, in: &members)
    refresh(old.host)
  }
}
