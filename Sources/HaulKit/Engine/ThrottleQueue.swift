import HaulCore

/// The tasks that wait for a `Throttle`, and which of them is the leader.
struct ThrottleQueue: Sendable {
  typealias Ticket = RateFairQueue.Ticket

  /// What a task that requested bytes must do.
  enum Role: Sendable {
    case granted(Int)
    /// Lead: sleep until this instant, and serve all waiting tasks.
    case lead(from: Instant)
    /// Wait to be resumed.
    case follow
    /// It was removed.
    case withdrawn
  }

  /// The continuations to resume once the lock is released.
  struct Continuations: Sendable {
    fileprivate var roles: [(CheckedContinuation<Role, Never>, Role)] = []

    func resume() {
      for (continuation, role) in roles { continuation.resume(returning: role) }
    }
  }

  /// Bytes per second; nil for no limit.
  struct Limits: Sendable {
    var rate: Int64?
    /// What the open window of the schedule allows.
    var window: Int64?

    var lowest: Int64? { [rate, window].compactMap(\.self).min() }
  }

  private(set) var limits: Limits
  private var fairQueue: RateFairQueue
  private var followers: [Ticket: CheckedContinuation<Role, Never>] = [:]
  /// What was granted to tasks that have not suspended yet.
  private var granted: [Ticket: Int] = [:]
  private var leader: (ticket: Ticket, until: Instant)?

  init(rate: Int64?, at now: Instant) {
    (limits, fairQueue) = (Limits(rate: rate), RateFairQueue(rate: rate, at: now))
  }

  mutating func ask(
    upTo bytes: Int, for id: TransferID?, weight: Int, at now: Instant
  ) -> (Ticket, Role, Continuations) {
    let ticket = fairQueue.ask(upTo: bytes, for: id, weight: weight, at: now)
    var wakes = Continuations()
    grantDue(at: now, &wakes)
    let role = role(of: ticket, at: now)
    chooseLeader(at: now, &wakes)
    return (ticket, role, wakes)
  }

  /// Registers a waiting task; nil when it waits, else what it must do instead.
  mutating func follow(
    _ ticket: Ticket, _ continuation: CheckedContinuation<Role, Never>, at now: Instant
  ) -> Role? {
    let role = role(of: ticket, at: now)
    guard case .follow = role else { return role }
    followers[ticket] = continuation
    return nil
  }

  /// Grants what is due, after the leader has slept.
  /// - Returns: until when it sleeps again; nil when it no longer leads.
  mutating func serve(as sleeper: Ticket, at now: Instant) -> (Instant?, Continuations) {
    var wakes = Continuations()
    grantDue(at: now, &wakes)
    if leader?.ticket == sleeper, let next = fairQueue.nextDue(at: now) {
      leader = (sleeper, next.instant)
      return (next.instant, wakes)
    }
    chooseLeader(at: now, &wakes)
    return (nil, wakes)
  }

  mutating func changeLimits(
    at now: Instant, _ change: (inout Limits) -> Void
  ) -> Continuations {
    change(&limits)
    fairQueue.setRate(limits.lowest, at: now)
    var wakes = Continuations()
    grantDue(at: now, &wakes)
    chooseLeader(at: now, &wakes)
    return wakes
  }

  /// Removes a cancelled task, and appoints another leader if it led.
  mutating func withdraw(_ ticket: Ticket, at now: Instant) -> Continuations {
    fairQueue.withdraw(ticket)
    granted[ticket] = nil
    var wakes = Continuations()
    wake(ticket, .withdrawn, &wakes)
    chooseLeader(at: now, &wakes)
    return wakes
  }
}

extension ThrottleQueue {
  private mutating func grantDue(at now: Instant, _ wakes: inout Continuations) {
    for grant in fairQueue.due(at: now) {
      if !wake(grant.ticket, .granted(grant.bytes), &wakes) {
        granted[grant.ticket] = grant.bytes
      }
    }
  }

  /// Resumes a waiting task; false when it has not suspended yet.
  @discardableResult
  private mutating func wake(_ ticket: Ticket, _ role: Role, _ wakes: inout Continuations) -> Bool {
    if leader?.ticket == ticket { leader = nil }
    guard let follower = followers.removeValue(forKey: ticket) else { return false }
    wakes.roles.append((follower, role))
    return true
  }

  /// What a task that has not suspended must do.
  private mutating func role(of ticket: Ticket, at now: Instant) -> Role {
    if let bytes = granted.removeValue(forKey: ticket) { return .granted(bytes) }
    guard fairQueue.isWaiting(ticket), let next = fairQueue.nextDue(at: now) else {
      return .withdrawn
    }
    guard needsLeader(from: next.instant) else { return .follow }
    leader = (ticket, next.instant)
    return .lead(from: next.instant)
  }

  /// Whether no task sleeps, or only one that would wake too late.
  private func needsLeader(from instant: Instant) -> Bool {
    leader.map { instant < $0.until } ?? true
  }

  /// Makes a suspended task the leader if none leads in time; other tasks check that themselves.
  private mutating func chooseLeader(at now: Instant, _ wakes: inout Continuations) {
    guard let next = fairQueue.nextDue(at: now), needsLeader(from: next.instant),
      let ticket = followers[next.ticket] == nil ? followers.keys.first : next.ticket
    else { return }
    wake(ticket, .lead(from: next.instant), &wakes)
    leader = (ticket, next.instant)
  }
}
