package import HaulControl
package import HaulCore

/// Decides what a channel delivers, in which order, when it retries, and which cursor it stores. It
/// performs nothing.
///
/// The log of state changes is the outbox: the cursor is the number up to which everything was
/// delivered. It is stored after the delivery, so a crash repeats a notice and loses none.
package struct NoticeOutbox: Sendable {
  package struct Rules: Sendable {
    package var level: NoticeSettings.Level
    /// If more notices than this are ready, they are delivered as one; nil for never.
    package var mostAtOnce: Int?
    /// The time between a delivery and the next reading, in which more notices may become ready.
    package var spacing: Duration

    package init(
      _ level: NoticeSettings.Level, mostAtOnce: Int? = nil, spacing: Duration = .zero
    ) {
      (self.level, self.mostAtOnce, self.spacing) = (level, mostAtOnce, spacing)
    }
  }

  /// Why a delivery failed.
  package struct Failure: Error, Hashable, Sendable {
    /// For the log, without secrets.
    package var reason: String
    /// Whether the channel fails for any notice now. Then the number of attempts has no limit.
    package var isTemporary: Bool
    package var retryAfter: Duration?

    package init(_ reason: String, isTemporary: Bool = false, retryAfter: Duration? = nil) {
      (self.reason, self.isTemporary, self.retryAfter) = (reason, isTemporary, retryAfter)
    }
  }

  package enum Input: Sendable {
    case started
    /// What was read, the names of the transfers that ended, and the seconds since 1970.
    case read([QueueEvent], names: [TransferID: String], time: Double)
    /// One that no event makes.
    case found(Notice)
    case delivered
    case failed(Failure)
    case waited
    /// There are no more events, because the daemon ends.
    case ended
  }

  package enum Command: Hashable, Sendable {
    case read
    case deliver(Notice)
    case wait(until: Instant)
    /// Everything up to this number was delivered.
    case store(Int)
    case log(String)
    case stop
  }

  private let rules: Rules
  /// The stored cursor: everything up to this number was delivered.
  private var stored: Int
  /// The number up to which everything was read.
  private var known: Int
  private var pending: [Notice] = []
  /// The notice that is being delivered, and how many of `pending` it stands for.
  private var current: (notice: Notice, count: Int)?
  private var attempts: Attempts?
  private var waits = LongWaits()

  /// The failed attempts to deliver one notice.
  private struct Attempts {
    var count = 0
    var temporary: RetryState
    var final: RetryState
  }

  /// Without a notice, the cursor is stored only after this many state changes.
  private static let storedDistance = 1000

  /// - Parameter cursor: the number up to which everything was delivered.
  package init(_ rules: Rules, cursor: Int) {
    (self.rules, stored, known) = (rules, cursor, cursor)
  }

  package mutating func handle(
    _ input: Input, at now: Instant, using generator: inout some RandomNumberGenerator
  ) -> [Command] {
    switch input {
    case .started: return [.read]
    case .read(let events, let names, let time): return take(events, names, time)
    case .found(let notice):
      if rules.level.includes(notice) { pending.append(notice) }
      return next()
    case .delivered:
      let recovered = attempts.map { "works again after \($0.count) failed attempts" }
      return (recovered.map { [.log($0)] } ?? []) + advance(at: now)
    case .failed(let failure): return retry(after: failure, at: now, using: &generator)
    case .waited: return current.map { [.deliver($0.notice)] } ?? next()
    case .ended: return (pending.isEmpty ? store(known) : []) + [.stop]
    }
  }

  private mutating func take(
    _ events: [QueueEvent], _ names: [TransferID: String], _ time: Double
  ) -> [Command] {
    var commands: [Command] = []
    for event in events {
      switch event {
      case .transfer(let event):
        pending += Notice.notices(of: event, name: names[event.id], time: time)
          .filter(rules.level.includes)
        known = event.number ?? known
        pending += waits.notices(of: event, after: known, name: names[event.id], time: time)
          .filter(rules.level.includes)
      case .reset(let snapshot):
        if snapshot.number > known {
          let dropped = Notice.dropped(after: known, through: snapshot.number, time: time)
          pending.append(dropped)
          commands.append(.log(dropped.title))
        }
        waits.reset(to: snapshot.transfers, time: time)
        // A smaller number belongs to another list; its ends are reported from now on.
        known = snapshot.number
        if stored > known { commands += store(known) }
      }
    }
    return commands + next()
  }

  /// Delivers the next notice, or reads more events.
  private mutating func next() -> [Command] {
    guard let first = pending.first else {
      return (known - stored >= Self.storedDistance ? store(known) : []) + [.read]
    }
    let alike = pending.prefix { [.transfer, .group].contains($0.kind) }
    if let most = rules.mostAtOnce, alike.count > most, let all = Notice.several(Array(alike)) {
      current = (all, alike.count)
      return [.deliver(all)]
    }
    current = (first, 1)
    return [.deliver(first)]
  }

  /// Continues after a notice that was delivered or given up.
  private mutating func advance(at now: Instant) -> [Command] {
    let reported = pending.prefix(current?.count ?? 0).last
    pending.removeFirst(min(current?.count ?? 0, pending.count))
    (current, attempts) = (nil, nil)
    // A transfer and its group share a number, and both are delivered.
    let number = pending.first.map { min($0.number - 1, reported?.number ?? 0) } ?? known
    let commands = store(number)
    guard pending.isEmpty, rules.spacing > .zero else { return commands + next() }
    return commands + [.wait(until: now + rules.spacing)]
  }

  private mutating func store(_ number: Int) -> [Command] {
    guard number > stored || known < stored else { return [] }
    stored = number
    return [.store(number)]
  }

  private mutating func retry(
    after failure: Failure, at now: Instant, using generator: inout some RandomNumberGenerator
  ) -> [Command] {
    var attempts =
      attempts
      ?? Attempts(
        temporary: RetryState(.endless, startedAt: now),
        final: RetryState(RetryPolicy(), startedAt: now))
    attempts.count += 1
    var attempt = RetryState.Failure()
    attempt.retryAfter = failure.retryAfter.map { min($0, RetryAfter.longestPause) }
    let decision =
      failure.isTemporary
      ? attempts.temporary.failed(attempt, at: now, using: &generator)
      : attempts.final.failed(attempt, at: now, using: &generator)
    self.attempts = attempts
    switch decision {
    case .retry(let delay, _):
      // One line for a channel that fails for days.
      let line = "attempt 1 failed: \(failure.reason); retrying"
      return (attempts.count == 1 ? [.log(line)] : []) + [.wait(until: now + delay)]
    case .giveUp:
      let id = current?.notice.id ?? ""
      let line = "the notice \(id) was given up after \(attempts.count) attempts: "
      return [.log(line + failure.reason)] + advance(at: now)
    }
  }
}

extension RetryPolicy {
  /// The policy has the usual delays, and no limit.
  fileprivate static var endless: RetryPolicy {
    var policy = RetryPolicy()
    (policy.retries, policy.maximumTimeWithoutProgress) = (.max, .seconds(1 << 40))
    return policy
  }
}
