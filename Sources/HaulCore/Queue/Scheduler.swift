/// Decides which transfers run and how many connections each may have: slots, limits per host,
/// pauses of hosts, priorities, and the order inside a priority.
///
/// It reads no clock and starts nothing. A decision costs O(log n) in the number queued: each host
/// has a queue for each priority, and each priority knows the host with room whose first member
/// comes first. So a slow or refusing host delays no other. `FairShare` chooses the next priority.
package struct Scheduler: Sendable {
  package internal(set) var limits: Limits
  /// While true, `next(at:)` starts only forced transfers; running ones continue.
  package var isSuspended = false
  /// While set, the same applies; this is the reason.
  package var closed: WaitReason?
  var startsForcedOnly: Bool { isSuspended || closed != nil }
  /// Transfers that hold a slot, including forced ones.
  package internal(set) var active = 0
  /// Transfers that wait only for the disk.
  package internal(set) var waitingForDisk = 0
  /// Connections in use.
  package internal(set) var connections = 0
  /// Active transfers without a connection; each has one reserved.
  var unconnected = 0
  var members = TransferTable()
  var hosts = HostTable()
  /// For each level, the hosts whose first member may start, by its key.
  var ready = [RankedSet<QueueKey>](repeating: RankedSet(), count: PriorityLevel.allCases.count)
  /// The ends of the hosts' pauses.
  var alarms = RankedSet<Instant>()
  var share = FairShare()
  private var lastSequence: UInt64 = 0
  /// The highest rank so far.
  var lastRank: Int64 = 0

  package init(_ limits: Limits = Limits()) {
    self.limits = limits.sane
  }

  /// Takes effect with the next `next(at:)`: a higher limit lets more start, a lower one lets
  /// running transfers continue. O(hosts).
  package mutating func setLimits(_ newLimits: Limits) {
    limits = newLimits.sane
    for host in Array(hosts.all) { refresh(host) }
  }

  /// Makes room for this many more.
  package mutating func reserve(_ more: Int) { members.reserve(more) }

  /// Queues a transfer; a paused one returns to its old position, with its priority and rank (its
  /// host may have changed). Has no effect on any other known transfer.
  ///
  /// - Parameters:
  ///   - host: nil for a local step, which needs an active slot, but no host's slot and no
  ///     connection.
  ///   - rank: its position inside its priority; equal ranks are first come, first served. Nil puts
  ///     it last.
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

  /// Suspends a transfer that keeps its position: it was paused by a person, or waits for a retry.
  /// A requested start that has not happened is withdrawn.
  ///
  /// Call it when its input and output have stopped: its slot and connections are free at once.
  /// - Returns: whether it held a slot; a second call has no effect.
  @discardableResult
  package mutating func paused(_ id: TransferID) -> Bool {
    guard let number = members.number(of: id) else { return false }
    return stop(number)
  }

  /// Forgets a transfer that has ended, with slot and connections. A second call has no effect.
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

  /// Takes slot and connections from a transfer whose bytes have all arrived, so that another can
  /// use the network while it waits for the disk; call `next(at:)` afterwards. With a limit of one
  /// transfer, it keeps its slot.
  /// - Returns: whether it held a slot of several, and fewer than 128 wait like this.
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

  /// Whether it gave up its slot and waits for the disk.
  package func isWaitingForDisk(_ id: TransferID) -> Bool {
    members.member(id)?.phase == .waitingForDisk
  }

  /// Limited, because they hold memory and are fetched again after a crash.
  private static let mostWaitingForDisk = 128

  /// Pauses a host until `until`: no transfer starts there and no connection is added; running ones
  /// continue. A shorter pause never shortens a longer one.
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
    // If it is not the first, nothing changes for the host.
    if members[number].position == 0 { refresh(host, level) }
  }

  /// Removes a queued member from its queue; `refresh` its host afterwards.
  mutating func dequeue(_ number: Int32) {
    let member = members[number]
    hosts.states[member.host].queues[member.level.rawValue]
      .remove(at: member.position, in: &members)
    hosts.states[member.host].waiting -= 1
    members.call(number, .none)
  }

  /// Ends the waiting or running of a member; the only place that frees a slot.
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

  /// Counts connections, and reserved ones, for a host and in total.
  mutating func use(_ count: Int, unconnected idle: Int, on host: Int) {
    connections += count
    unconnected += idle
    hosts.states[host].connections += count
    hosts.states[host].unconnected += idle
  }

  /// Updates everything that depends on a host, after any change of it; forgets a host without
  /// members, and an outage that no transfer would end.
  mutating func refresh(_ host: Int) {
    guard host != HostTable.local else { return }
    for level in PriorityLevel.allCases where hosts.states[host].hasUsed(level) {
      refresh(host, level)
    }
    if hosts.states[host].members == 0 { hosts.states[host].outage = nil }
    alarms.set(host, to: hosts.states[host].alarm)
    forget(host)
  }

  /// The same if only the host's queue of this level has changed.
  private mutating func refresh(_ host: Int, _ level: PriorityLevel) {
    guard host != HostTable.local else { return }
    let front = hosts.states[host].queues[level.rawValue].first
    let isOpen = front != nil && hosts.states[host].isOpen(level, limits)
    ready[level.rawValue].set(host, to: isOpen ? front.map { members.place(of: $0) } : nil)
  }

  /// Forgets a host without members.
  private mutating func forget(_ host: Int) {
    guard host != HostTable.local, hosts.states[host].isForgettable else { return }
    hosts.forget(host)
  }
}
