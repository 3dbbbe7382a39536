import HeapModule

/// The transfers of one host: those that wait, in order, and how much of the host is in use.
struct HostQueue: Sendable {
  /// A place in the queue. Taking a transfer out leaves its entry behind; it is dropped when it comes to the front.
  struct Entry: Comparable, Sendable {
    /// First come, first served; kept over pause and resume.
    let sequence: UInt64
    /// Tells this entry from an older one of the same transfer.
    let ticket: UInt64
    let id: TransferID

    static func < (left: Entry, right: Entry) -> Bool {
      (left.sequence, left.ticket) < (right.sequence, right.ticket)
    }
  }

  private var entries = Heap<Entry>()
  /// Entries whose transfer still waits.
  private(set) var waiting = 0
  var active = 0
  /// Active transfers without a connection; each has one reserved.
  var unconnected = 0
  var connections = 0
  /// Active transfers that get bytes.
  var delivering = 0
  /// Connections that the host was seen to bear.
  var learnedCap: Int?
  /// Connections that a transfer was seen to be worth.
  var settledConnections: Int?
  var backOffUntil: Instant?
  /// The sequence under which the scheduler's heap of ready hosts knows this one.
  var advertised: UInt64?
  /// The time under which the scheduler's heap of sleeping hosts knows this one.
  var alarm: Instant?

  /// The sequence of the first that waits; exact only after `dropStale`.
  var front: Entry? { waiting > 0 ? entries.min : nil }

  /// Whether nothing would be lost by forgetting the host.
  var isForgettable: Bool {
    waiting == 0 && active == 0 && connections == 0 && learnedCap == nil
      && settledConnections == nil && backOffUntil == nil
  }

  mutating func insert(_ entry: Entry) {
    entries.insert(entry)
    waiting += 1
  }

  /// Counts one waiting transfer less; its entry is dropped later.
  mutating func forgetOne() { waiting -= 1 }

  /// Drops entries of transfers that left, at the front, and everywhere when they are the majority: amortised O(log n).
  mutating func dropStale(isCurrent: (Entry) -> Bool) {
    if entries.count > 2 * waiting + 32 {
      entries = Heap(entries.unordered.filter(isCurrent))
    }
    while let first = entries.min, !isCurrent(first) { entries.removeMin() }
  }

  func connectionCap(_ limits: Scheduler.Limits) -> Int {
    min(limits.connectionsPerHost, learnedCap ?? .max)
  }

  /// Whether one more transfer, with one connection, fits.
  func hasRoom(_ limits: Scheduler.Limits) -> Bool {
    active < limits.activePerHost && connections + unconnected < connectionCap(limits)
  }
}
