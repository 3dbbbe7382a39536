extension Scheduler {
  /// Takes one more connection for an active transfer.
  ///
  /// Refused while the host is paused, and beyond a limit. A further connection is refused as well while a transfer
  /// waits that lacks nothing but a connection, so that those who came first cannot keep the others out.
  ///
  /// The first connection was reserved when the transfer started. It is refused only if a pause or a lower limit came
  /// since then: give the slot back with `paused` and `add` the transfer again; it keeps its place.
  package mutating func grantConnection(for id: TransferID) -> Bool {
    guard let member = members[id], member.phase == .active, let host = hosts[member.host],
      host.backOffUntil == nil, member.connections < limits.connectionsPerTransfer
    else { return false }
    let isFirst = member.connections == 0
    let reservedByHost = isFirst ? 0 : host.unconnected
    let reserved = isFirst ? 0 : unconnected
    guard host.connections + reservedByHost < host.connectionCap(limits),
      connections + reserved < limits.connections,
      isFirst || !isStartBlocked(on: host)
    else { return false }
    change(id, on: member.host, by: 1, unconnected: isFirst ? -1 : 0)
    return true
  }

  /// Gives one connection back; call `next(at:)` afterwards. A no-op when the transfer has none.
  /// - Returns: whether it had one.
  @discardableResult
  package mutating func releaseConnection(for id: TransferID) -> Bool {
    guard let member = members[id], member.connections > 0 else { return false }
    change(id, on: member.host, by: -1, unconnected: member.connections == 1 ? 1 : 0)
    refresh(member.host)
    return true
  }

  /// Notes that a host refused a connection while `alive` others of it went on: from now on it gets no more than those,
  /// and at least one. What runs, runs on. The cap is kept for the scheduler's life and never rises.
  /// - Returns: the new cap, when it is lower than the old one.
  @discardableResult
  package mutating func lowerCap(_ host: String, to alive: Int) -> Int? {
    let former = (hosts[host] ?? HostQueue()).connectionCap(limits)
    let cap = max(1, min(alive, hosts[host]?.learnedCap ?? alive))
    hosts[host, default: HostQueue()].learnedCap = cap
    refresh(host)
    return cap < former ? cap : nil
  }

  /// Notes that the host refused a connection of this transfer, which still counts, while others went on.
  /// - Returns: the host's new cap, when it is lower than the old one.
  package mutating func connectionRefused(for id: TransferID) -> Int? {
    guard let member = members[id], let host = hosts[member.host] else { return nil }
    return lowerCap(member.host, to: host.connections - 1)
  }

  /// Notes how many connections a transfer of the host was worth, by measurement; kept for the scheduler's life.
  /// Nil when no number was too many.
  package mutating func settled(on connections: Int?, of host: String) {
    hosts[host, default: HostQueue()].settledConnections = connections
    refresh(host)
  }

  /// The number that the last transfer of the host settled on; the host's limit goes before it.
  package func settledConnections(of host: String) -> Int? { hosts[host]?.settledConnections }

  /// Notes that an active transfer gets bytes, until it gives its slot back.
  package mutating func delivers(_ id: TransferID) {
    guard let member = members[id], member.phase == .active, !member.isDelivering else { return }
    members[id]?.isDelivering = true
    hosts[member.host]?.delivering += 1
  }

  /// Whether the transfer's host serves others at this moment.
  package func hostServesOthers(than id: TransferID) -> Bool {
    guard let member = members[id], let host = hosts[member.host] else { return false }
    return host.delivering > (member.isDelivering ? 1 : 0)
  }

  /// When a host may be asked again; nil when it did not ask to be left alone.
  package func backOffEnd(of host: String) -> Instant? { hosts[host]?.backOffUntil }

  /// Connections that one transfer holds.
  package func connections(of id: TransferID) -> Int { members[id]?.connections ?? 0 }

  /// Transfers of that host that run or wait for a slot.
  package func transfers(of host: String) -> Int {
    hosts[host].map { $0.waiting + $0.active } ?? 0
  }

  /// Whether a transfer of this host, or any other, has a slot to go to and waits for a connection only.
  private mutating func isStartBlocked(on host: HostQueue) -> Bool {
    guard active < limits.active else { return false }
    if host.waiting > 0, host.active < limits.activePerHost { return true }
    return firstReady() != nil
  }

  private mutating func change(
    _ id: TransferID, on host: String, by count: Int, unconnected idle: Int
  ) {
    members[id]?.connections += count
    connections += count
    unconnected += idle
    hosts[host]?.connections += count
    hosts[host]?.unconnected += idle
  }
}
