import HaulCore

/// Those who wait for a `Throttle`, and who of them sleeps for all.
struct ThrottleQueue: Sendable {
  typealias Ticket = WeightedShare.Ticket

  /// What one who asked has to do.
  enum Part: Sendable {
    case granted(Int)
    /// Wait to be told, and serve from then on.
    case lead(from: Instant)
    /// Wait to be told.
    case follow
    /// It was taken out.
    case withdrawn
  }

  /// Whom to tell what, when the lock is free again.
  struct Wakes: Sendable {
    fileprivate var parts: [(CheckedContinuation<Part, Never>, Part)] = []

    func resume() {
      for (continuation, part) in parts { continuation.resume(returning: part) }
    }
  }

  private var share: WeightedShare
  private var followers: [Ticket: CheckedContinuation<Part, Never>] = [:]
  /// What was granted to one that is on its way to follow.
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

  /// Lets one wait to be told; what it has to do instead, if there is something.
  mutating func follow(
    _ ticket: Ticket, _ continuation: CheckedContinuation<Part, Never>, at now: Instant
  ) -> Part? {
    let part = part(of: ticket, at: now)
    guard case .follow = part else { return part }
    followers[ticket] = continuation
    return nil
  }

  /// Grants what is due, when the leader has slept.
  /// - Returns: until when it sleeps again; nil when it does not lead any more.
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

  /// Takes a cancelled one out, and lets another lead if it led.
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

  /// Ends the waiting of one; false when it is not waiting yet.
  @discardableResult
  private mutating func tell(_ ticket: Ticket, _ part: Part, _ wakes: inout Wakes) -> Bool {
    if leader?.ticket == ticket { leader = nil }
    guard let follower = followers.removeValue(forKey: ticket) else { return false }
    wakes.parts.append((follower, part))
    return true
  }

  /// What one that is awake has to do.
  private mutating func part(of ticket: Ticket, at now: Instant) -> Part {
    if let bytes = granted.removeValue(forKey: ticket) { return .granted(bytes) }
    guard share.isWaiting(ticket), let next = share.nextDue(at: now) else { return .withdrawn }
    guard needsLeader(from: next.instant) else { return .follow }
    leader = (ticket, next.instant)
    return .lead(from: next.instant)
  }

  /// Whether nobody sleeps, or only for too long.
  private func needsLeader(from instant: Instant) -> Bool {
    leader.map { instant < $0.until } ?? true
  }

  /// Makes one of those who wait lead, if need be. One on its way to wait looks to that itself.
  private mutating func appoint(at now: Instant, _ wakes: inout Wakes) {
    guard let next = share.nextDue(at: now), needsLeader(from: next.instant),
      let ticket = followers[next.ticket] == nil ? followers.keys.first : next.ticket
    else { return }
    tell(ticket, .lead(from: next.instant), &wakes)
    leader = (ticket, next.instant)
  }
}
