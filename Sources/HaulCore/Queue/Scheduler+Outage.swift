extension Scheduler {
  /// Notes that a transfer got no answer from its host. No transfer tries until `nextTrial`; then
  /// one at a time does, those with the fewest attempts first, until there is an answer.
  ///
  /// - Parameter nextTrial: nil to let its transfers try without waiting for each other.
  package mutating func hostFailed(for id: TransferID, at now: Instant, nextTrial: Instant?) {
    guard let number = members.number(of: id), members[number].host != HostTable.local else {
      return
    }
    let host = members[number].host
    var outage = hosts.states[host].outage ?? HostOutage(since: now)
    outage.failures += 1
    outage.until = nextTrial
    outage.trialTransfer = nil
    outage.allowsAllTransfers = nextTrial == nil
    if let nextTrial, !outage.isNoted {
      outage.isNoted = true
      let state = hosts.states[host]
      notes.append(.outage(host: state.name, transfers: state.members, next: nextTrial - now))
    }
    hosts.states[host].outage = outage
    setHostAttempts(of: number, to: members.hostAttempts(of: number) + 1)
    refresh(host)
  }

  /// Notes that a transfer got an answer from its host: all may continue. O(1) except after an
  /// outage.
  /// - Returns: whether there was an outage, so that others may start now.
  package mutating func hostAnswered(for id: TransferID, at now: Instant) -> Bool {
    guard let member = members.member(id), member.host != HostTable.local else { return false }
    hosts.states[member.host].hasAnswered = true
    guard let outage = hosts.states[member.host].outage else { return false }
    if outage.isNoted {
      notes.append(.answered(host: hosts.states[member.host].name, after: now - outage.since))
    }
    hosts.states[member.host].outage = nil
    for number in members.membersWithHostAttempts where members[number].host == member.host {
      setHostAttempts(of: number, to: 0)
    }
    refresh(member.host)
    return true
  }

  /// What has happened to hosts since the last call.
  package mutating func takeNotes() -> [QueueNote] {
    defer { notes = [] }
    return notes
  }

  /// The health of the host of a transfer that got no answer.
  package func hostHealth(for id: TransferID) -> HostHealth {
    var health = HostHealth()
    guard let member = members.member(id) else { return health }
    health.hasAnswered = hosts.states[member.host].hasAnswered
    guard let outage = hosts.states[member.host].outage else { return health }
    health.failures = outage.failures
    health.since = outage.since
    health.isTrialOfAnotherTransfer = !outage.allowsAllTransfers && outage.trialTransfer != id
    return health
  }

  /// Ends the attempt of a transfer that no longer runs.
  mutating func endTrial(_ member: ScheduledTransfer) {
    guard hosts.states[member.host].outage?.trialTransfer == member.id else { return }
    hosts.states[member.host].outage?.trialTransfer = nil
  }

  /// Sets the order of a member among those that wait for their host.
  mutating func setHostAttempts(of number: Int32, to hostAttempts: Int) {
    members.setHostAttempts(of: number, to: hostAttempts)
    let member = members[number]
    guard member.phase == .queued else { return }
    hosts.states[member.host].queues[member.level.rawValue]
      .update(at: member.position, in: &members)
  }
}
