/// Decides which transfers run and how many connections each may have: slots, limits per host,
/// pauses of hosts, priorities, and the order inside a priority.
///
/// It reads no clock and starts nothing. A decision costs O(log n) in the number of queued
/// transfers. Each host has a queue for each priority, and each priority knows the host with room
/// whose first member is next. So a slow or refusing host delays no other. `SlotFairQueue` chooses
/// the next priority.
package struct Scheduler: Sendable {
  package internal(set) var limits: Limits
  /// While true, `next(at:)` starts only forced transfers; running ones continue.
  package var isSuspended = false
  /// Why `next(at:)` starts only forced transfers; nil while the schedule is open.
  package var closedReason: WaitReason?
  var startsForcedOnly: Bool { isSuspended || closedReason != nil }
  /// Transfers that hold a slot, including forced ones.
  package internal(set) var active = 0
  /// Transfers that wait only for the disk.
  package internal(set) var waitingForDisk = 0
  /// Connections in use.
  package internal(set) var connections = 0
  /// Active transfers without a connection; each has a reserved one.
  var reservedConnections = 0
  var members = ScheduledTransferTable()
  var hosts = HostTable()
  /// What has happened to hosts, until it is taken.
  var notes: [QueueNote] = []
  /// For each level, the hosts whose first member may start, ordered by its key.
  var ready = [IndexedPriorityQueue<QueueKey>](
    repeating: IndexedPriorityQueue(), count: PriorityLevel.allCases.count)
  /// The ends of the hosts' pauses.
  var wakeUpTimes = IndexedPriorityQueue<Instant>()
  var fairQueue = SlotFairQueue()
  private var lastSequence: UInt64 = 0
  /// The highest rank so far.
  var lastRank: Int64 = 0

  package init(_ limits: Limits = Limits()) {
    self.limits = limits.sane
  }

  /// Takes effect with the next `next(at:)`. With a lower limit, running transfers continue.
  /// O(hosts).
  package mutating func setLimits(_ newLimits: Limits) {
    limits = newLimits.sane
    for host in Array(hosts.all) { refresh(host) }
  }

  /// Active transfers that hosts may have, in place of `Limits.activePerHost`. Called first.
  package mutating func limitHosts(_ ownLimits: [String: Int]) { hosts.ownLimits = ownLimits }

  /// Makes room for this many more.
  package mutating func reserve(_ more: Int) { members.reserve(more) }

  /// Queues a transfer. A released one returns to its old position, with its priority and rank; its
  /// host may have changed. Has no effect on any other known transfer.
  ///
  /// - Parameters:
  ///   - host: nil for a local step, which needs an active slot, but no host's slot and no
  ///     connection.
  ///   - rank: its position inside its priority; equal ranks are served in order of arrival. Nil
  ///     puts it last.
  package mutating func add(
    _ id: TransferID, host: String?, priority: TransferRequest.Priority = .default,
    rank: Int64? = nil
  ) {
    if let known = members.number(of: id) {
      guard members[known].phase == .released else { return }
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
      ScheduledTransfer(id, host: key, priority: priority, rank: rank, sequence: lastSequence))
    enqueue(number)
  }

  /// Takes its slot from a transfer that keeps its position, for a pause or a retry. A requested
  /// start that has not happened is withdrawn.
  ///
  /// Call it when its input and output have stopped, because its slot and connections are free at
  /// once.
  /// - Returns: whether it held a slot; a second call has no effect.
  @discardableResult
  package mutating func release(_ id: TransferID) -> Bool {
    guard let number = members.number(of: id) else { return false }
    return stop(number)
  }

  /// Forgets a transfer that has ended, and frees its slot and connections. A second call has no
  /// effect.
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

  /// Frees slot and connections of a transfer whose bytes have all arrived, so that another one
  /// uses the network while it waits for the disk. Call `next(at:)` afterwards. With a limit of one
  /// transfer, it keeps its slot.
  /// - Returns: whether it held one of several slots, and fewer than 128 wait like this.
  package mutating func yieldSlotForDisk(_ id: TransferID) -> Bool {
    guard let number = members.number(of: id), members[number].phase == .active,
      waitingForDisk < Self.maximumWaitingForDisk, min(limits.active, limits.activePerHost) > 1
    else { return false }
    _ = stop(number)
    members[number].phase = .waitingForDisk
    waitingForDisk += 1
    return true
  }

  /// Whether it holds a slot.
  package func isActive(_ id: TransferID) -> Bool { members.member(id)?.phase == .active }

  /// Whether it gave up its slot and waits only for the disk.
  package func isWaitingForDisk(_ id: TransferID) -> Bool {
    members.member(id)?.phase == .waitingForDisk
  }

  /// Limited, because they hold memory, and a crash loses them.
  private static let maximumWaitingForDisk = 128

  /// Pauses a host until `until`: no transfer starts there and no connection is added; running ones
  /// continue. A shorter pause does not shorten a longer one.
  package mutating func pauseHost(_ host: String, until: Instant) {
    let number = hosts.number(for: host)
    hosts.states[number].pausedUntil = max(hosts.states[number].pausedUntil ?? until, until)
    refresh(number)
  }
}

extension Scheduler {
  private mutating func moveHost(_ number: Int32, to name: String?) {
    let (old, new) = (members[number].host, hosts.number(for: name))
    guard old != new else { return }
    members[number].host = new
    members.setHostAttempts(of: number, to: 0)
    hosts.states[new].members += 1
    hosts.states[old].members -= 1
    refresh(old)
  }

  private mutating func enqueue(_ number: Int32) {
    members[number].phase = .queued
    let (host, level) = (members[number].host, members[number].level)
    hosts.states[host].insert(number, level, in: &members)
    hosts.states[host].waiting += 1
    // Unless it is the first, nothing changes for the host.
    if members[number].position == 0 { refresh(host, level) }
  }

  /// Removes a queued member from its queue; `refresh` its host afterwards.
  mutating func dequeue(_ number: Int32) {
    let member = members[number]
    hosts.states[member.host].queues[member.level.rawValue]
      .remove(at: member.position, in: &members)
    hosts.states[member.host].waiting -= 1
    members.setStartRequest(number, nil)
  }

  /// Ends the waiting or running of a member. Only this function frees a slot.
  private mutating func stop(_ number: Int32) -> Bool {
    let member = members[number]
    switch member.phase {
    case .released: return false
    case .waitingForDisk: waitingForDisk -= 1
    case .queued:
      let level = member.level
      dequeue(number)
      members[number].phase = .released
      refresh(member.host, level)
      return false
    case .active:
      active -= 1
      endTrial(member)
      hosts.states[member.host].active -= 1
      hosts.states[member.host].delivering -= member.isDelivering ? 1 : 0
      let idle = member.connections == 0 && member.host != HostTable.local ? 1 : 0
      use(-Int(member.connections), reservedConnections: -idle, on: member.host)
    }
    members[number].connections = 0
    members[number].isDelivering = false
    members[number].phase = .released
    refresh(member.host)
    return member.phase == .active
  }

  /// Counts used and reserved connections, for a host and in total.
  mutating func use(_ count: Int, reservedConnections idle: Int, on host: Int) {
    connections += count
    reservedConnections += idle
    hosts.states[host].connections += count
    hosts.states[host].reservedConnections += idle
  }

  /// Updates everything that depends on a host, after any change of it. Forgets a host without
  /// members, and an outage that no transfer would end.
  mutating func refresh(_ host: Int) {
    guard host != HostTable.local else { return }
    for level in PriorityLevel.allCases where hosts.states[host].hasUsed(level) {
      refresh(host, level)
    }
    if hosts.states[host].members == 0 { hosts.states[host].outage = nil }
    wakeUpTimes.set(host, to: hosts.states[host].wakeUpTime)
    forget(host)
  }

  /// The same if only the host's queue of this level has changed.
  private mutating func refresh(_ host: Int, _ level: PriorityLevel) {
    guard host != HostTable.local else { return }
    let front = hosts.states[host].queues[level.rawValue].first
    let isOpen = front != nil && hosts.states[host].isOpen(level, limits)
    ready[level.rawValue].set(host, to: isOpen ? front.map { members.key(of: $0) } : nil)
  }

  /// Forgets a host without members.
  private mutating func forget(_ host: Int) {
    guard host != HostTable.local, hosts.states[host].isForgettable else { return }
    hosts.forget(host)
  }
}
