/// An outage: the host refuses connections, is not found, or stays silent.
struct HostOutage: Sendable {
  /// When the first attempt failed.
  let since: Instant
  /// Consecutive attempts without an answer.
  var failures = 0
  /// Until when no transfer may try; nil if one may.
  var until: Instant?
  /// The only transfer that tries.
  var asker: TransferID?
  /// Whether its transfers now try without waiting for each other.
  var isGivenUp = false

  /// Whether a transfer may start to try.
  var isOpen: Bool { isGivenUp || (until == nil && asker == nil) }
}

/// What the transfers of a host know of its answers.
package struct HostHealth: Hashable, Sendable {
  /// Whether any of them got an answer.
  package var hasAnswered = false
  /// Consecutive attempts without an answer.
  package var failures = 0
  /// When the first of those failed.
  package var since: Instant?
  /// Whether it is another transfer's turn to try.
  package var isOthersTurn = false

  package init() {}
}

extension Scheduler {
  /// Notes that a transfer got no answer from its host. No transfer tries until `askAgain`; then
  /// one at a time does, those with the fewest attempts first, until there is an answer.
  ///
  /// - Parameter askAgain: nil to let its transfers try without waiting for each other.
  package mutating func hostFailed(for id: TransferID, at now: Instant, askAgain: Instant?) {
    guard let number = members.number(of: id), members[number].host != HostTable.local else {
      return
    }
    let host = members[number].host
    var outage = hosts.states[host].outage ?? HostOutage(since: now)
    outage.failures += 1
    outage.until = askAgain
    outage.asker = nil
    outage.isGivenUp = askAgain == nil
    hosts.states[host].outage = outage
    setAsks(of: number, to: members.asks(of: number) + 1)
    refresh(host)
  }

  /// Notes that a transfer got an answer from its host: all may continue. O(1) except after an
  /// outage.
  /// - Returns: whether there was an outage, so that others may start now.
  package mutating func hostAnswered(for id: TransferID) -> Bool {
    guard let member = members.member(id), member.host != HostTable.local else { return false }
    hosts.states[member.host].hasAnswered = true
    guard hosts.states[member.host].outage != nil else { return false }
    hosts.states[member.host].outage = nil
    for number in members.asked where members[number].host == member.host {
      setAsks(of: number, to: 0)
    }
    refresh(member.host)
    return true
  }

  /// The health of the host of a transfer that got no answer.
  package func hostStanding(for id: TransferID) -> HostHealth {
    var health = HostHealth()
    guard let member = members.member(id) else { return health }
    health.hasAnswered = hosts.states[member.host].hasAnswered
    guard let outage = hosts.states[member.host].outage else { return health }
    health.failures = outage.failures
    health.since = outage.since
    health.isOthersTurn = !outage.isGivenUp && outage.asker != id
    return health
  }

  /// Ends the attempt of a transfer that no longer runs.
  mutating func stopAsking(_ member: Member) {
    guard hosts.states[member.host].outage?.asker == member.id else { return }
    hosts.states[member.host].outage?.asker = nil
  }

  /// Sets the order of a member among those that wait for their host.
  mutating func setAsks(of number: Int32, to asks: Int) {
    members.setAsks(of: number, to: asks)
    let member = members[number]
    guard member.phase == .queued else { return }
    hosts.states[member.host].queues[member.level.rawValue]
      .update(at: member.position, in: &members)
  }
}
