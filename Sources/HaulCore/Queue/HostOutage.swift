/// A host that gives no answer: it refuses connections, is not found, or stays silent.
struct HostOutage: Sendable {
  /// When the first ask failed.
  let since: Instant
  /// Asks in a row that got no answer.
  var failures = 0
  /// Until when nobody asks; nil when somebody may.
  var until: Instant?
  /// The one transfer that asks.
  var asker: TransferID?
  /// Whether its transfers try without waiting for each other again.
  var isGivenUp = false

  /// Whether a transfer may start to ask.
  var isOpen: Bool { isGivenUp || (until == nil && asker == nil) }
}

/// What the transfers of a host have seen of its answers.
package struct HostHealth: Hashable, Sendable {
  /// Whether any of them got one.
  package var hasAnswered = false
  /// Asks in a row that got none.
  package var failures = 0
  /// When the first of those failed.
  package var since: Instant?
  /// Whether another transfer is to ask.
  package var isOthersTurn = false

  package init() {}
}

extension Scheduler {
  /// Notes that a transfer got no answer from its host. Until `askAgain` nobody asks there; then
  /// one transfer at a time does, those that have asked least first, until there is an answer.
  ///
  /// - Parameter askAgain: nil to have its transfers try without waiting for each other.
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

  /// Notes that a transfer got an answer from its host: all may go on. O(1) but after an outage.
  /// - Returns: whether there was one, so that others may start now.
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

  /// What is known of the host of a transfer that got no answer.
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

  /// Ends an ask whose transfer does not run any more.
  mutating func stopAsking(_ member: Member) {
    guard hosts.states[member.host].outage?.asker == member.id else { return }
    hosts.states[member.host].outage?.asker = nil
  }

  /// Gives a member its place among those that wait for their host.
  mutating func setAsks(of number: Int32, to asks: Int) {
    members.setAsks(of: number, to: asks)
    let member = members[number]
    guard member.phase == .queued else { return }
    hosts.states[member.host].queues[member.level.rawValue]
      .update(at: member.position, in: &members)
  }
}
