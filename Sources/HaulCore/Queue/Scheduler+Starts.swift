extension Scheduler {
  /// Takes the slots of the transfers to start now, in order. Each, except a local step, gets one
  /// reserved connection.
  ///
  /// Forced transfers come first, then those with "start now", then the priorities in turn.
  package mutating func next(at now: Instant) -> [TransferID] {
    wakeHosts(at: now)
    var started: [TransferID] = []
    while let number = front(of: .forced) { started.append(start(number)) }
    guard !startsForcedOnly else { return started }
    while active < limits.active, let number = pick() { started.append(start(number)) }
    return started
  }

  /// Whether `next(at:)` would start something. O(1).
  package func mayStart(at now: Instant) -> Bool {
    if let wakeUpTime = wakeUpTimes.first?.key, wakeUpTime <= now { return true }
    if front(of: .forced) != nil { return true }
    guard !startsForcedOnly, active < limits.active else { return false }
    return PriorityLevel.allCases.contains { front(of: $0) != nil }
  }

  /// Whether there is a slot for another transfer.
  package var hasFreeSlot: Bool { !startsForcedOnly && active < limits.active }

  /// The end of the next pause of a host, when `next(at:)` must be called; nil if time alone
  /// changes nothing.
  package func nextWakeUp() -> Instant? { wakeUpTimes.first?.key }

  /// Why a queued transfer waits; nil when it is not queued or the next `next(at:)` may start it.
  /// - Parameter wallSeconds: the same moment in seconds since 1970.
  package func reason(
    for id: TransferID, at now: Instant, wallSeconds: Double
  ) -> WaitReason? {
    let wall = { (until: Instant) in wallSeconds + (until - now) / .seconds(1) }
    guard let member = members.member(id), member.phase == .queued else { return nil }
    let isForced = member.requestedLevel == .forced
    if isSuspended, !isForced { return .suspended }
    if let closedReason, !isForced { return closedReason }
    let hasSlot = isForced || active < limits.active
    guard member.host != HostTable.local else { return hasSlot ? nil : .slot }
    let host = hosts.states[member.host]
    if let until = host.pausedUntil, until > now { return .hostBackOff(until: wall(until)) }
    if let outage = host.outage, !outage.allowsAllTransfers {
      if let until = outage.until, until > now { return .hostOutage(until: wall(until)) }
      if outage.trialTransfer != nil { return .hostOutage(until: nil) }
    }
    guard isForced ? host.hasConnection(limits) : host.hasRoom(limits) else {
      guard let learned = host.learnedLimit, isForced || host.allowsMore(limits),
        learned.connections < limits.connectionsPerHost
      else { return .hostLimit }
      return .hostRefusal(until: wall(learned.until))
    }
    return hasSlot && hasConnection ? nil : .slot
  }

  /// The first queued transfer of the host of a transfer, by priority; nil if there is none.
  package func firstQueued(atHostOf id: TransferID) -> TransferID? {
    guard let member = members.member(id), member.host != HostTable.local else { return nil }
    let host = hosts.states[member.host]
    let queues = PriorityLevel.allCases.reversed().lazy.map { host.queues[$0.rawValue] }
    return queues.compactMap(\.first).first.map { members[$0].id }
  }

  /// The pause that the host of a transfer asked for; nil if there is none. No start shortens it.
  package func hostPause(
    for id: TransferID, at now: Instant, wallSeconds: Double
  ) -> Double? {
    guard let member = members.member(id), member.host != HostTable.local,
      let until = hosts.states[member.host].pausedUntil, until > now
    else { return nil }
    return wallSeconds + (until - now) / .seconds(1)
  }

  /// Whether one more transfer would get a connection, counting all hosts.
  private var hasConnection: Bool { connections + reservedConnections < limits.connections }

  /// The next transfer within the limits; takes its priority's turn. A requested start takes no
  /// turn.
  private mutating func pick() -> Int32? {
    if let number = front(of: .startNow) { return number }
    guard let priority = fairQueue.next(among: { front(of: PriorityLevel($0)) != nil }) else {
      return nil
    }
    fairQueue.took(priority)
    return front(of: PriorityLevel(priority))
  }

  /// The first member of a level that lacks only the slot.
  private func front(of level: PriorityLevel) -> Int32? {
    let local = hosts.states[HostTable.local].queues[level.rawValue].first
    guard hasConnection, let host = ready[level.rawValue].first?.number,
      let remote = hosts.states[host].queues[level.rawValue].first
    else { return local }
    guard let local else { return remote }
    return members.precedes(local, remote) ? local : remote
  }

  private mutating func start(_ number: Int32) -> TransferID {
    dequeue(number)
    members[number].phase = .active
    let member = members[number]
    active += 1
    hosts.states[member.host].active += 1
    hosts.states[member.host].outage?.trialTransfer = member.id
    if member.host != HostTable.local { use(0, reservedConnections: 1, on: member.host) }
    refresh(member.host)
    return member.id
  }

  /// Ends pauses whose time is over.
  private mutating func wakeHosts(at now: Instant) {
    while let first = wakeUpTimes.first, first.key <= now {
      hosts.states[first.number].wake(at: now)
      refresh(first.number)
    }
  }
}
