import HeapModule

/// Decides which transfers run and how many connections each may have: slots, limits per host, hosts that asked for
/// a pause, first come, first served.
///
/// It holds no time and starts nothing. A decision costs O(log n) in the number queued: each host has a queue of its own,
/// and of the hosts with room the one whose first member came first is next. So a slow or refusing host holds up nobody.
package struct Scheduler: Sendable {
  /// A transfer from `add` to `remove`.
  struct Member: Sendable {
    enum Phase: Hashable, Sendable {
      case queued(ticket: UInt64)
      case active
      /// It wants the disk only: neither slot nor connection is its.
      case waitingForDisk
      case paused
    }

    let host: String
    let sequence: UInt64
    var phase: Phase
    var connections = 0
    var isDelivering = false
  }

  struct Ready: Comparable, Sendable {
    let sequence: UInt64
    let host: String
    static func < (left: Ready, right: Ready) -> Bool { left.sequence < right.sequence }
  }

  struct Alarm: Comparable, Sendable {
    let until: Instant
    let host: String
    static func < (left: Alarm, right: Alarm) -> Bool { left.until < right.until }
  }

  package private(set) var limits: Limits
  /// Transfers that hold a slot.
  package private(set) var active = 0
  /// Transfers that wait for the disk only.
  package private(set) var waitingForDisk = 0
  /// Connections in use.
  package internal(set) var connections = 0
  /// Active transfers without a connection; each has one reserved.
  var unconnected = 0
  var members: [TransferID: Member] = [:]
  var hosts: [String: HostQueue] = [:]
  private var ready = Heap<Ready>()
  private var alarms = Heap<Alarm>()
  private var lastSequence: UInt64 = 0
  private var lastTicket: UInt64 = 0

  package init(_ limits: Limits = Limits()) {
    self.limits = limits.sane
  }

  /// Takes effect with the next `next(at:)`: raising lets more start, lowering lets what runs run on. O(hosts).
  package mutating func setLimits(_ newLimits: Limits) {
    limits = newLimits.sane
    for host in hosts.keys { refresh(host) }
  }

  /// Queues a transfer at the end; one that was paused goes back to its old place (the host may be another now).
  /// No effect on any other known one.
  package mutating func add(_ id: TransferID, host: String) {
    if let member = members[id] {
      if member.phase == .paused { enqueue(id, host: host, sequence: member.sequence) }
    } else {
      lastSequence += 1
      enqueue(id, host: host, sequence: lastSequence)
    }
  }

  /// Takes a transfer out of the running for now and keeps its place: paused by a person, or waiting for a retry.
  ///
  /// Call it when its input and output have stopped: slot and connections are free at once.
  /// - Returns: whether it held a slot; a second call is a no-op.
  @discardableResult
  package mutating func paused(_ id: TransferID) -> Bool {
    stop(id)
  }

  /// Forgets a transfer that has ended, with slot and connections. A second call is a no-op.
  /// - Returns: whether it held a slot.
  @discardableResult
  package mutating func finished(_ id: TransferID) -> Bool {
    let heldSlot = paused(id)
    if let member = members.removeValue(forKey: id) { refresh(member.host) }
    return heldSlot
  }

  /// Takes slot and connections from a transfer whose bytes are all there, so that another may use the network while it waits
  /// for the disk; call `next(at:)` afterwards. Where one at a time is wanted, it is one until its end.
  /// - Returns: whether it held a slot of several, and fewer than 128 wait so.
  package mutating func waitsForDisk(_ id: TransferID) -> Bool {
    guard members[id]?.phase == .active, waitingForDisk < Self.mostWaitingForDisk,
      min(limits.active, limits.activePerHost) > 1
    else { return false }
    _ = stop(id)
    members[id]?.phase = .waitingForDisk
    waitingForDisk += 1
    return true
  }

  /// What they hold is memory, and they are fetched again after a crash.
  private static let mostWaitingForDisk = 128

  /// Forgets a transfer, whatever it does; as `finished`.
  @discardableResult
  package mutating func remove(_ id: TransferID) -> Bool { finished(id) }

  /// Takes the slots for the transfers to start now, in order. Each has one connection reserved.
  package mutating func next(at now: Instant) -> [TransferID] {
    wakeHosts(at: now)
    var started: [TransferID] = []
    while hasSlot, let host = firstReady(), let id = start(on: host) { started.append(id) }
    return started
  }

  /// When the next pause of a host ends, for `next(at:)` to be called; nil when time alone will change nothing.
  package mutating func nextWakeUp() -> Instant? {
    while let first = alarms.min {
      if hosts[first.host]?.alarm == first.until { return first.until }
      alarms.removeMin()
    }
    return nil
  }

  /// Lets a host alone until `until`: nothing starts there and no connection is added; what runs, runs on.
  /// A shorter wish never shortens a longer one.
  package mutating func backOff(_ host: String, until: Instant) {
    let longest = max(hosts[host]?.backOffUntil ?? until, until)
    hosts[host, default: HostQueue()].backOffUntil = longest
    refresh(host)
  }

  /// Why a queued transfer waits; nil when it is not queued or the next `next(at:)` may start it.
  package func reason(for id: TransferID, at now: Instant) -> WaitReason? {
    guard let member = members[id], case .queued = member.phase, let host = hosts[member.host]
    else { return nil }
    if let until = host.backOffUntil, until > now { return .hostBackOff(until: until) }
    if !host.hasRoom(limits) { return .hostLimit }
    return hasSlot ? nil : .slot
  }
}

extension Scheduler {
  /// Whether one more transfer, with one connection, fits.
  private var hasSlot: Bool {
    active < limits.active && connections + unconnected < limits.connections
  }

  private mutating func enqueue(_ id: TransferID, host: String, sequence: UInt64) {
    lastTicket += 1
    members[id] = Member(host: host, sequence: sequence, phase: .queued(ticket: lastTicket))
    hosts[host, default: HostQueue()].insert(
      HostQueue.Entry(sequence: sequence, ticket: lastTicket, id: id))
    refresh(host)
  }

  private mutating func start(on key: String) -> TransferID? {
    guard let entry = hosts[key]?.front else { return nil }
    members[entry.id]?.phase = .active
    active += 1
    unconnected += 1
    hosts[key]?.forgetOne()
    hosts[key]?.active += 1
    hosts[key]?.unconnected += 1
    refresh(key)
    return entry.id
  }

  /// Ends the queueing or the activity of a member; the one place where a slot is given back.
  private mutating func stop(_ id: TransferID) -> Bool {
    guard let member = members[id] else { return false }
    switch member.phase {
    case .paused: return false
    case .waitingForDisk: waitingForDisk -= 1
    case .queued: hosts[member.host]?.forgetOne()
    case .active:
      let idle = member.connections == 0 ? 1 : 0
      active -= 1
      unconnected -= idle
      connections -= member.connections
      hosts[member.host]?.active -= 1
      hosts[member.host]?.unconnected -= idle
      hosts[member.host]?.connections -= member.connections
      hosts[member.host]?.delivering -= member.isDelivering ? 1 : 0
    }
    members[id]?.connections = 0
    members[id]?.isDelivering = false
    members[id]?.phase = .paused
    refresh(member.host)
    return member.phase == .active
  }

  /// Ends the pauses that are over.
  private mutating func wakeHosts(at now: Instant) {
    while let first = alarms.min, first.until <= now {
      alarms.removeMin()
      guard hosts[first.host]?.alarm == first.until else { continue }
      hosts[first.host]?.alarm = nil
      if let until = hosts[first.host]?.backOffUntil, until <= now {
        hosts[first.host]?.backOffUntil = nil
      }
      refresh(first.host)
    }
  }

  /// The host whose first waiting transfer came first, of those that have room. Entries overtaken by events are dropped.
  mutating func firstReady() -> String? {
    while let first = ready.min {
      if let host = hosts[first.host], host.advertised == first.sequence {
        if host.backOffUntil == nil, host.hasRoom(limits), host.front?.sequence == first.sequence {
          return first.host
        }
        hosts[first.host]?.advertised = nil
      }
      ready.removeMin()
    }
    return nil
  }

  /// Restores, after any change to a host, what the heaps must know of it; forgets a host that nothing is left of.
  mutating func refresh(_ key: String) {
    guard hosts[key] != nil else { return }
    hosts[key]?.dropStale { [members] entry in
      members[entry.id]?.phase == .queued(ticket: entry.ticket)
    }
    guard let host = hosts[key], !host.isForgettable else {
      hosts[key] = nil
      return
    }
    if let until = host.backOffUntil {
      guard host.alarm != until else { return }
      hosts[key]?.alarm = until
      alarms.insert(Alarm(until: until, host: key))
    } else if let front = host.front, host.hasRoom(limits), host.advertised != front.sequence {
      hosts[key]?.advertised = front.sequence
      ready.insert(Ready(sequence: front.sequence, host: key))
      trimReady()
    }
  }

  /// Keeps overtaken entries from outnumbering the hosts.
  private mutating func trimReady() {
    guard ready.count > 2 * hosts.count + 32 else { return }
    ready = Heap(ready.unordered.filter { hosts[$0.host]?.advertised == $0.sequence })
  }
}
