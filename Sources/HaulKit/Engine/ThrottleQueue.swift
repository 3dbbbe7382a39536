import HaulCore

/// The tasks that wait for a `Throttle`, and which of them sleeps for all.
struct ThrottleQueue: Sendable {
  typealias Ticket = WeightedShare.Ticket

  /// What a task that asked must do.
  enum Part: Sendable {
    case granted(Int)
    /// Wait to be resumed, and lead from then on.
    case lead(from: Instant)
    /// Wait to be resumed.
    case follow
    /// It was removed.
    case withdrawn
  }

  /// The continuations to resume once the lock is released.
  struct Wakes: Sendable {
    fileprivate var parts: [(CheckedContinuation<Part, Never>, Part)] = []

    func resume() {
      for (continuation, part) in parts { continuation.resume(returning: part) }
    }
  }

  private var share: WeightedShare
  private var followers: [Ticket: CheckedContinuation<Part, Never>] = [:]
  /// What was granted to tasks that have not suspended yet.
  private var granted: [Ticket: Int] = [:]
  private var leader: (ticket: Ticket, until: Instant)?

  init(_ share: WeightedShare) { self.share = share }

  mutating func ask(
    upTo bytes: Int, for id: TransferID?, weight: Int, at now: Instant
  ) -> (Ticket, Part, Wakes) {
    let ticket = share.ask(upTo: bytes, for: id, weight: weight, at: now)
    var wakes = Wakes()
    grantDue(at: now, &wakes)
    let part = part(of: ticket, at: now)
    appoint(at: now, &wakes)
    return (ticket, part, wakes)
  }

  /// Registers a waiting task; returns what it must do instead, if anything.
  mutating func follow(
    _ ticket: Ticket, _ continuation: CheckedContinuation<Part, Never>, at now: Instant
  ) -> Part? {
    let part = part(of: ticket, at: now)
    guard case .follow = part else { return part }
    followers[ticket] = continuation
    return nil
  }

  /// Grants what is due, after the leader has slept.
  /// - Returns: until when it sleeps again; nil when it no longer leads.
  mutating func serve(as sleeper: Ticket, at now: Instant) -> (Instant?, Wakes) {
    var wakes = Wakes()
    grantDue(at: now, &wakes)
    if leader?.ticket == sleeper, let next = share.nextDue(at: now) {
      leader = (sleeper, next.instant)
      return (next.instant, wakes)
    }
    appoint(at: now, &wakes)
    return (nil, wakes)
  }

  mutating func setRate(_ rate: Int64?, at now: Instant) -> Wakes {
    share.setRate(rate, at: now)
    var wakes = Wakes()
    grantDue(at: now, &wakes)
    appoint(at: now, &wakes)
    return wakes
  }

  /// Removes a cancelled task, and appoints another leader if it led.
  mutating func withdraw(_ ticket: Ticket, at now: Instant) -> Wakes {
    share.withdraw(ticket)
    granted[ticket] = nil
    var wakes = Wakes()
    tell(ticket, .withdrawn, &wakes)
    appoint(at: now, &wakes)
    return wakes
  }
}

extension ThrottleQueue {
  private mutating func grantDue(at now: Instant, _ wakes: inout Wakes) {
    for grant in share.due(at: now) {
      if !tell(grant.ticket, .granted(grant.bytes), &wakes) {
        granted[grant.ticket] = grant.bytes
      }
    }
  }

  /// Resumes a waiting task; false when it does not wait yet.
  @discardableResult
  private mutating func tell(_ ticket: Ticket, _ part: Part, _ wakes: inout Wakes) -> Bool {
    if leader?.ticket == ticket { leader = nil }
    guard let follower = followers.removeValue(forKey: ticket) else { return false }
    wakes.parts.append((follower, part))
    return true
  }

  /// What a task that is awake must do.
  private mutating func part(of ticket: Ticket, at now: Instant) -> Part {
    if let bytes = granted.removeValue(forKey: ticket) { return .granted(bytes) }
    guard share.isWaiting(ticket), let next = share.nextDue(at: now) else { return .withdrawn }
    guard needsLeader(from: next.instant) else { return .follow }
    leader = (ticket, next.instant)
    return .lead(from: next.instant)
  }

  /// Whether no task sleeps, or only one that would wake too late.
  private func needsLeader(from instant: Instant) -> Bool {
    leader.map { instant < $0.until } ?? true
  }

  /// Appoints a waiting task as leader if needed. A task that has not suspended yet checks that
  /// itself.
  private mutating func appoint(at now: Instant, _ wakes: inout Wakes) {
    guard let next = share.nextDue(at: now), needsLeader(from: next.instant),
      let ticket = followers[next.ticket] == nil ? followers.keys.first : next.ticket
    else { return }
    tell(ticket, .lead(from: next.instant), &wakes)
    leader = (ticket, next.instant)
  }
}
