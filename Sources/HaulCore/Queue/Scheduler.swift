/// Decides which transfers run and how many connections each may have: slots, limits per host,
/// hosts that asked for a pause, priorities, and the order inside a priority.
///
/// It holds no time and starts nothing. A decision costs O(log n) in the number queued: each host
/// has a queue for each priority, and each priority knows, of the hosts with room, the one whose
/// first member comes first. So a slow or refusing host holds up nobody. `FairShare` says which
/// priority is next.
package struct Scheduler: Sendable {
  package internal(set) var limits: Limits
  /// While set, `next(at:)` starts forced ones only; what runs, runs on.
  package var isSuspended = false
  /// While set, the same; why.
  package var closed: WaitReason?
  var startsForcedOnly: Bool { isSuspended || closed != nil }
  /// Transfers that hold a slot, forced ones too.
  package internal(set) var active = 0
  /// Transfers that wait for the disk only.
  package internal(set) var waitingForDisk = 0
  /// Connections in use.
  package internal(set) var connections = 0
  /// Active transfers without a connection; each has one reserved.
  var unconnected = 0
  var members = TransferTable()
  var hosts = HostTable()
  /// Of each lane the hosts whose first may start, with its place.
  var ready = [RankedSet<QueueKey>](repeating: RankedSet(), count: PriorityLevel.allCases.count)
  /// When pauses of hosts end.
  var alarms = RankedSet<Instant>()
  var share = FairShare()
  private var lastSequence: UInt64 = 0
  /// The highest rank that was ever given.
  var lastRank: Int64 = 0

  package init(_ limits: Limits = Limits()) {
    self.limits = limits.sane
  }

  /// Takes effect with the next `next(at:)`: raising lets more start, lowering lets what runs run
  /// on. O(hosts).
  package mutating func setLimits(_ newLimits: Limits) {
    limits = newLimits.sane
    for host in Array(hosts.all) { refresh(host) }
  }

  /// Makes room for so many more.
  package mutating func reserve(_ more: Int) { members.reserve(more) }

  /// Queues a transfer; one that was paused goes back to its old place, with the priority and the
  /// rank that it has (the host may be another now). No effect on any other known one.
  ///
  /// - Parameters:
  ///   - host: nil for a local step, which needs an active slot, and neither a host's slot nor a
  ///     connection.
  ///   - rank: its place among those of its priority; equal ones go first come, first served. Nil
  ///     is behind all known.
  package mutating func add(
    _ id: TransferID, host: String?, priority: TransferRequest.Priority = .default,
    rank: Int64? = nil
  ) {
    if let known = members.number(of: id) {
      guard members[known].phase == .paused else { return }
      moveHost(known, to: host)
      enqueue(known)
      return
    }
    lastSequence += 1
    let rank = rank ?? (lastRank == .max ? .max : lastRank + 1)
    lastRank = max(lastRank, rank)
    let key = hosts.number(for: host)
    hosts.states[key].members += 1
    let number = members.insert(
      Member(id, host: key, priority: priority, rank: rank, sequence: lastSequence))
    enqueue(number)
  }

  /// Takes a transfer out of the running for now and keeps its place: paused by a person, or
  /// waiting for a retry. A start that was called for and has not come is taken back.
  ///
  /// Call it when its input and output have stopped: slot and connections are free at once.
  /// - Returns: whether it held a slot; a second call is a no-op.
  @discardableResult
  package mutating func paused(_ id: TransferID) -> Bool {
    guard let number = members.number(of: id) else { return false }
    return stop(number)
  }

  /// Forgets a transfer that has ended, with slot and connections. A second call is a no-op.
  /// - Returns: whether it held a slot.
  @discardableResult
  package mutating func finished(_ id: TransferID) -> Bool {
    guard let number = members.number(of: id) else { return false }
    let heldSlot = stop(number)
    let host = members[number].host
    members.remove(number)
    hosts.states[host].members -= 1
    if hosts.states[host].members == 0 { refresh(host) }
    return heldSlot
  }

  /// Takes slot and connections from a transfer whose bytes are all there, so that another may use
  /// the network while it waits for the disk; call `next(at:)` afterwards. Where one at a time is
  /// wanted, it is one until its end.
  /// - Returns: whether it held a slot of several, and fewer than 128 wait so.
  package mutating func waitsForDisk(_ id: TransferID) -> Bool {
    guard let number = members.number(of: id), members[number].phase == .active,
      waitingForDisk < Self.mostWaitingForDisk, min(limits.active, limits.activePerHost) > 1
    else { return false }
    _ = stop(number)
    members[number].phase = .waitingForDisk
    waitingForDisk += 1
    return true
  }

  /// Whether it holds a slot.
  package func isActive(_ id: TransferID) -> Bool { members.member(id)?.phase == .active }

  /// Whether it gave up its slot, and waits for the disk.
  package func isWaitingForDisk(_ id: TransferID) -> Bool {
    members.member(id)?.phase == .waitingForDisk
  }

  /// What they hold is memory, and they are fetched again after a crash.
  private static let mostWaitingForDisk = 128

  /// Lets a host alone until `until`: nothing starts there and no connection is added; what runs,
  /// runs on. A shorter wish never shortens a longer one.
  package mutating func backOff(_ host: String, until: Instant) {
    let number = hosts.number(for: host)
    hosts.states[number].backOffUntil = max(hosts.states[number].backOffUntil ?? until, until)
    refresh(number)
  }
}

extension Scheduler {
  private mutating func moveHost(_ number: Int32, to name: String?) {
    let (old, new) = (members[number].host, hosts.number(for: name))
    guard old != new else { return }
    members[number].host = new
    members.setAsks(of: number, to: 0)
    hosts.states[new].members += 1
    hosts.states[old].members -= 1
    refresh(old)
  }

  private mutating func enqueue(_ number: Int32) {
    members[number].phase = .queued
    let (host, level) = (members[number].host, members[number].level)
    hosts.states[host].insert(number, level, in: &members)
    hosts.states[host].waiting += 1
    // Behind another it changes nothing for the host.
    if members[number].position == 0 { refresh(host, level) }
  }

  /// Takes a queued member out of its queue; `refresh` its host afterwards.
  mutating func dequeue(_ number: Int32) {
    let member = members[number]
    hosts.states[member.host].queues[member.level.rawValue]
      .remove(at: member.position, in: &members)
    hosts.states[member.host].waiting -= 1
    members.call(number, .none)
  }

  /// Ends the queueing or the activity of a member; the one place where a slot is given back.
  private mutating func stop(_ number: Int32) -> Bool {
    let member = members[number]
    switch member.phase {
    case .paused: return false
    case .waitingForDisk: waitingForDisk -= 1
    case .queued:
      let level = member.level
      dequeue(number)
      members[number].phase = .paused
      refresh(member.host, level)
      return false
    case .active:
      active -= 1
      stopAsking(member)
      hosts.states[member.host].active -= 1
      hosts.states[member.host].delivering -= member.isDelivering ? 1 : 0
      let idle = member.connections == 0 && member.host != HostTable.local ? 1 : 0
      use(-Int(member.connections), unconnected: -idle, on: member.host)
    }
    members[number].connections = 0
    members[number].isDelivering = false
    members[number].phase = .paused
    refresh(member.host)
    return member.phase == .active
  }

  /// Counts connections, and reservations of one, of a host and in all.
  mutating func use(_ count: Int, unconnected idle: Int, on host: Int) {
    connections += count
    unconnected += idle
    hosts.states[host].connections += count
    hosts.states[host].unconnected += idle
  }

  /// Restores, after any change to a host, what is known of it elsewhere; forgets a host that
  /// nothing is left of, and an outage whose end nobody would see.
  mutating func refresh(_ host: Int) {
    guard host != HostTable.local else { return }
    for level in PriorityLevel.allCases where hosts.states[host].hasUsed(level) {
      refresh(host, level)
    }
    if hosts.states[host].members == 0 { hosts.states[host].outage = nil }
    alarms.set(host, to: hosts.states[host].alarm)
    forget(host)
  }

  /// The same where the host has only another queue in this lane.
  private mutating func refresh(_ host: Int, _ level: PriorityLevel) {
    guard host != HostTable.local else { return }
    let front = hosts.states[host].queues[level.rawValue].first
    let isOpen = front != nil && hosts.states[host].isOpen(level, limits)
    ready[level.rawValue].set(host, to: isOpen ? front.map { members.place(of: $0) } : nil)
  }

  /// Forgets a host that nothing is left of.
  private mutating func forget(_ host: Int) {
    guard host != HostTable.local, hosts.states[host].isForgettable else { return }
    hosts.forget(host)
  }
}
