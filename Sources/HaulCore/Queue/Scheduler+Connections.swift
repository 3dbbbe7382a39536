extension Scheduler {
  /// Takes one more connection for an active transfer.
  ///
  /// Refused while the host is paused, and above a limit. An additional connection is also refused
  /// while another transfer lacks only a connection, so that earlier transfers cannot block it.
  ///
  /// The first connection was reserved when the transfer started. It is refused only after a pause
  /// or a lower limit. Then give the slot back with `release` and `add` the transfer again; it
  /// keeps its position.
  package mutating func grantConnection(for id: TransferID) -> Bool {
    guard let number = members.number(of: id) else { return false }
    let (member, host) = (members[number], hosts.states[members[number].host])
    guard member.phase == .active, member.host != HostTable.local,
      host.pausedUntil == nil, member.connections < limits.connectionsPerTransfer
    else { return false }
    let isFirst = member.connections == 0
    let reservedByHost = isFirst ? 0 : host.reservedConnections
    let reserved = isFirst ? 0 : reservedConnections
    guard host.connections + reservedByHost < host.connectionLimit(limits),
      connections + reserved < limits.connections,
      isFirst || !isStartBlocked(on: host)
    else { return false }
    members[number].connections += 1
    use(1, reservedConnections: isFirst ? -1 : 0, on: member.host)
    refresh(member.host)
    return true
  }

  /// Gives one connection back; call `next(at:)` afterwards. Has no effect if the transfer has
  /// none.
  /// - Returns: whether it had one.
  @discardableResult
  package mutating func releaseConnection(for id: TransferID) -> Bool {
    guard let number = members.number(of: id), members[number].connections > 0 else { return false }
    members[number].connections -= 1
    let member = members[number]
    use(-1, reservedConnections: member.connections == 0 ? 1 : 0, on: member.host)
    refresh(member.host)
    return true
  }

  /// Notes that a host refused a connection while `alive` others stayed open. Its limit becomes
  /// that number, but at least one. Running transfers continue. It never rises, and is forgotten
  /// ten minutes after the last refusal.
  /// - Returns: the new limit, if it is lower than the old one.
  @discardableResult
  package mutating func lowerLimit(_ host: String, to alive: Int, at now: Instant) -> Int? {
    lowerLimit(hosts.number(for: host), to: alive, at: now)
  }

  /// Notes that the host refused a connection of this transfer while others stayed open. The
  /// refused connection still counts.
  /// - Returns: the host's new limit, if it is lower than the old one.
  package mutating func connectionRefused(
    for id: TransferID, at now: Instant, _ error: TransferError
  ) -> Int? {
    guard let member = members.member(id), member.host != HostTable.local else { return nil }
    hosts.states[member.host].refusal = error
    return lowerLimit(member.host, to: hosts.states[member.host].connections - 1, at: now)
  }

  /// How the host of a transfer refused a connection, last; nil unless a learned limit holds.
  package func refusal(for id: TransferID) -> TransferError? {
    members.member(id).flatMap { hosts.states[$0.host].refusal }
  }

  /// How long a learned limit holds after a refusal. A server with a fixed limit then refuses about
  /// one request in that time, and one that was only busy does not slow a daemon down for days.
  package static let learnedLimitLifetime: Duration = .seconds(600)

  private mutating func lowerLimit(_ host: Int, to alive: Int, at now: Instant) -> Int? {
    let former = hosts.states[host].connectionLimit(limits)
    let limit = max(1, min(alive, hosts.states[host].learnedLimit?.connections ?? alive))
    hosts.states[host].learnedLimit = (limit, now + Self.learnedLimitLifetime)
    refresh(host)
    return limit < former ? limit : nil
  }

  /// Notes the number of connections that a transfer of the host chose by measuring; kept for the
  /// scheduler's life. Nil if no number was too high.
  package mutating func noteChosenConnections(_ connections: Int?, of host: String) {
    let number = hosts.number(for: host)
    hosts.states[number].chosenConnections = connections
    refresh(number)
  }

  /// The number that the last transfer of the host chose; the host's limit overrides it.
  package func chosenConnections(of host: String) -> Int? {
    hosts.number(of: host).flatMap { hosts.states[$0].chosenConnections }
  }

  /// Notes that an active transfer receives bytes, until it gives its slot back.
  package mutating func noteDelivering(_ id: TransferID) {
    guard let number = members.number(of: id), members[number].phase == .active,
      !members[number].isDelivering
    else { return }
    members[number].isDelivering = true
    hosts.states[members[number].host].delivering += 1
  }

  /// Whether the transfer's host serves others now.
  package func hostServesOthers(than id: TransferID) -> Bool {
    guard let member = members.member(id), member.host != HostTable.local else { return false }
    return hosts.states[member.host].delivering > (member.isDelivering ? 1 : 0)
  }

  /// When a host may be asked again; nil if it did not ask for a pause.
  package func pauseEnd(of host: String) -> Instant? {
    hosts.number(of: host).flatMap { hosts.states[$0].pausedUntil }
  }

  /// Connections that one transfer holds.
  package func connections(of id: TransferID) -> Int { Int(members.member(id)?.connections ?? 0) }

  /// Transfers of that host that run or wait for a slot.
  package func transfers(of host: String) -> Int {
    hosts.number(of: host).map { hosts.states[$0].waiting + hosts.states[$0].active } ?? 0
  }

  /// Whether a transfer, of this host or of any other, could have a slot and lacks only a
  /// connection.
  private func isStartBlocked(on host: HostState) -> Bool {
    if host.queues[PriorityLevel.forced.rawValue].count > 0 || isReady(.forced) { return true }
    guard !startsForcedOnly, active < limits.active else { return false }
    if host.waiting > 0, host.allowsMore(limits) { return true }
    return PriorityLevel.allCases.contains { isReady($0) }
  }

  /// Whether a member of that level has a host with room.
  private func isReady(_ level: PriorityLevel) -> Bool { ready[level.rawValue].first != nil }
}
