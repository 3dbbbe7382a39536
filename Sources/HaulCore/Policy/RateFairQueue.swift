/// Divides a rate among transfers by weight: weighted fair queueing with finish tags.
///
/// Each transfer has a mark that advances by bytes / weight. A request waits until its transfer has
/// the lowest mark and the rate allows its bytes. Unused shares go to the others. A new transfer
/// starts at the mark of the last grant, so it has no claim to earlier bytes.
///
/// A transfer requests its next bytes a moment after a grant. Its turn is kept for 10 ms, but only
/// as long as the bucket can save up the rate. So shares are right although each request is small,
/// and an ended or slow transfer costs no rate.
package struct RateFairQueue: Sendable {
  /// A waiting request.
  package struct Ticket: Hashable, Sendable {
    fileprivate let number: UInt64
  }

  /// What a waiting request may use now, in bytes.
  package struct Grant: Hashable, Sendable {
    package let ticket: Ticket
    package let bytes: Int
  }

  /// A transfer that waits, or was served a moment ago.
  private struct Flow: Sendable {
    var weight: Int
    /// What it has received: bytes times `unit` / weight.
    var virtualTime: UInt64
    /// The cost of its next bytes; while it has no waiting request, the cost of its last.
    var cost: UInt64 = 0
    /// The end of the time in which its turn is kept while it has no waiting request.
    var keptUntil: Instant
    /// Its waiting requests, in order, with the most bytes of each.
    var asked: [(ticket: Ticket, bytes: Int)] = []

    var finish: UInt64 { virtualTime + cost }
  }

  /// A number that every weight divides.
  private static let unit = TransferRequest.Priority.userInteractive.weight
  private static let keep = Duration.milliseconds(10)

  private var bucket: TokenBucket
  private var flows: [TransferID?: Flow] = [:]
  private var waiting: [Ticket: TransferID?] = [:]
  private var lastVirtualTime: UInt64 = 0
  private var lastTicket: UInt64 = 0
  /// The number of flows at which ended ones are removed.
  private var room = 64

  /// `rate` in bytes per second; nil for no limit.
  package init(rate: Int64?, at now: Instant) {
    bucket = TokenBucket(rate: rate, at: now)
  }

  /// Whether this request still waits.
  package func isWaiting(_ ticket: Ticket) -> Bool { waiting[ticket] != nil }

  /// Queues for up to `bytes`, at least one; `due(at:)` grants them. Requests of one transfer are
  /// granted in order, from its share. The weight holds for the transfer from now on.
  package mutating func ask(
    upTo bytes: Int, for id: TransferID?, weight: Int, at now: Instant
  ) -> Ticket {
    lastTicket += 1
    let ticket = Ticket(number: lastTicket)
    var flow = flow(of: id, at: now)
    flow.weight = max(weight, 1)
    flow.asked.append((ticket, max(bytes, 1)))
    flows[id] = flow
    waiting[ticket] = .some(id)
    updateCost(id)
    return ticket
  }

  /// Removes a waiting request; has no effect on others.
  package mutating func withdraw(_ ticket: Ticket) {
    guard let id = waiting.removeValue(forKey: ticket) else { return }
    flows[id]?.asked.removeAll { $0.ticket == ticket }
    updateCost(id)
  }

  /// Grants what is due, in order.
  package mutating func due(at now: Instant) -> [Grant] {
    var grants: [Grant] = []
    while let turn = turn(at: now), turn.wait == .zero { grants.append(serve(turn, at: now)) }
    return grants
  }

  /// The request that `due(at:)` will grant next, and its time, unless another is added before; nil
  /// if none waits.
  package mutating func nextDue(at now: Instant) -> (ticket: Ticket, instant: Instant)? {
    turn(at: now).map { ($0.ticket, now + $0.wait) }
  }

  /// In bytes per second; nil for no limit.
  package var rate: Int64? { bucket.rate }

  /// Changes the rate, also for waiting requests.
  package mutating func setRate(_ rate: Int64?, at now: Instant) {
    bucket.setRate(rate, at: now)
    for id in flows.keys { updateCost(id) }
  }
}

extension RateFairQueue {
  private struct Turn {
    let id: TransferID?
    let ticket: Ticket
    let bytes: Int
    let finish: UInt64
    let wait: Duration
  }

  /// The next waiting request, and its time.
  private mutating func turn(at now: Instant) -> Turn? {
    let waiting = flows.lazy.compactMap { id, flow in
      flow.asked.first.map { (id: id, finish: flow.finish, ticket: $0.ticket, bytes: $0.bytes) }
    }
    let first = waiting.min { ($0.finish, $0.ticket.number) < ($1.finish, $1.ticket.number) }
    guard let first else { return nil }
    let bytes = grant(first.bytes)
    var wait = bucket.delay(of: bytes, at: now)
    if let kept = keptUntil(before: first.finish), kept > now {
      wait = max(wait, min(kept - now, bucket.delay(of: bucket.capacity, at: now)))
    }
    return Turn(
      id: first.id, ticket: first.ticket, bytes: bytes, finish: first.finish, wait: wait)
  }

  /// The end of the time in which earlier turns are kept for transfers without a waiting request.
  private func keptUntil(before virtualTime: UInt64) -> Instant? {
    flows.values.lazy.filter { $0.asked.isEmpty && $0.finish < virtualTime }.map(\.keptUntil).max()
  }

  private mutating func serve(_ turn: Turn, at now: Instant) -> Grant {
    _ = bucket.take(upTo: turn.bytes, at: now)
    lastVirtualTime = max(lastVirtualTime, turn.finish)
    flows[turn.id]?.virtualTime = turn.finish
    flows[turn.id]?.keptUntil = now + Self.keep
    flows[turn.id]?.asked.removeFirst()
    waiting[turn.ticket] = nil
    updateCost(turn.id)
    return Grant(ticket: turn.ticket, bytes: turn.bytes)
  }

  /// The flow of a transfer; created if there is none.
  private mutating func flow(of id: TransferID?, at now: Instant) -> Flow {
    if let flow = flows[id], !flow.asked.isEmpty || flow.keptUntil > now { return flow }
    if flows.count >= room {
      flows = flows.filter { !$0.value.asked.isEmpty || $0.value.keptUntil > now }
      room = max(64, 2 * flows.count)
    }
    return Flow(weight: 1, virtualTime: lastVirtualTime, keptUntil: now)
  }

  /// The most that is granted at once, so that the bytes of all transfers interleave.
  private func grant(_ bytes: Int) -> Int {
    bucket.rate == nil ? bytes : min(bytes, bucket.capacity)
  }

  private mutating func updateCost(_ id: TransferID?) {
    guard let flow = flows[id], let first = flow.asked.first else { return }
    let bytes = bucket.rate == nil ? 0 : grant(first.bytes)
    flows[id]?.cost = UInt64(bytes) * UInt64(Self.unit) / UInt64(flow.weight)
  }
}
