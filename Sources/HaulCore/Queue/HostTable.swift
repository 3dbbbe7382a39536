/// The scheduler's state of a host: its waiting transfers, and what is in use.
struct HostState: Sendable {
  let name: String
  /// Active transfers that it may have, in place of `Limits.activePerHost`; nil without a limit of
  /// its own.
  let ownLimit: Int?
  /// Members of the scheduler, in any state.
  var members = 0
  /// Members that are queued.
  var waiting = 0
  var active = 0
  /// Active transfers without a connection; each has a reserved one.
  var reservedConnections = 0
  var connections = 0
  /// Active transfers that receive bytes.
  var delivering = 0
  /// The connection limit learned from the refusals of the host, until it is forgotten.
  var learnedLimit: (connections: Int, until: Instant)?
  /// How the host refused, the last time that this limit was learned.
  var refusal: TransferError?
  /// The number of connections that the last transfer chose.
  var chosenConnections: Int?
  /// The end of the pause that the host asked for.
  var pausedUntil: Instant?
  /// Whether it has answered a transfer.
  var hasAnswered = false
  /// Nil unless the host is known not to answer.
  var outage: HostOutage?
  /// The waiting members, by priority level.
  var queues = [IndexedHeap](repeating: IndexedHeap(), count: PriorityLevel.allCases.count)
  /// The levels that have ever had a waiting member, one bit each: only those are searched.
  private var levels: UInt8 = 0

  init(name: String, ownLimit: Int? = nil) { (self.name, self.ownLimit) = (name, ownLimit) }

  func hasUsed(_ level: PriorityLevel) -> Bool { levels & 1 << level.rawValue != 0 }

  mutating func insert(
    _ number: Int32, _ level: PriorityLevel, in members: inout ScheduledTransferTable
  ) {
    levels |= 1 << level.rawValue
    queues[level.rawValue].insert(number, in: &members)
  }

  /// Whether forgetting the host would lose nothing.
  var isForgettable: Bool {
    members == 0 && connections == 0 && learnedLimit == nil && chosenConnections == nil
      && pausedUntil == nil
  }

  /// Whether one more active transfer is within its limit.
  func allowsMore(_ limits: Scheduler.Limits) -> Bool {
    active < ownLimit ?? limits.activePerHost
  }

  func connectionLimit(_ limits: Scheduler.Limits) -> Int {
    min(limits.connectionsPerHost, learnedLimit?.connections ?? .max)
  }

  /// Whether one more transfer would get a connection.
  func hasConnection(_ limits: Scheduler.Limits) -> Bool {
    connections + reservedConnections < connectionLimit(limits)
  }

  /// Whether one more transfer, with one connection, fits.
  func hasRoom(_ limits: Scheduler.Limits) -> Bool {
    allowsMore(limits) && hasConnection(limits)
  }

  /// The time at which the host opens without another event.
  var wakeUpTime: Instant? {
    Self.earlier(learnedLimit?.until, Self.earlier(outage?.until, pausedUntil))
  }

  private static func earlier(_ left: Instant?, _ right: Instant?) -> Instant? {
    guard let left, let right else { return left ?? right }
    return min(left, right)
  }

  /// Ends pauses whose time is over, and forgets an old limit.
  mutating func wake(at now: Instant) {
    if let until = pausedUntil, until <= now { pausedUntil = nil }
    if let until = outage?.until, until <= now { outage?.until = nil }
    if let limit = learnedLimit, limit.until <= now { (learnedLimit, refusal) = (nil, nil) }
  }

  /// Whether the host allows the first member of a level to start.
  func isOpen(_ level: PriorityLevel, _ limits: Scheduler.Limits) -> Bool {
    guard pausedUntil == nil, outage?.allowsTrial ?? true else { return false }
    return level == .forced ? hasConnection(limits) : hasRoom(limits)
  }
}

/// The hosts, each under a small number, so that a member needs no copy of the name. Number 0 is
/// for local steps, which have no host.
struct HostTable: Sendable {
  static let local = 0

  /// By number; changed in place, because a copy would copy the queues.
  var states = [HostState(name: "")]
  /// The limits of hosts that have one of their own; set before they are known.
  var ownLimits: [String: Int] = [:]
  private var numbers: [String: Int] = [:]
  private var free: [Int] = []
  /// The most recently used host, which is usually looked up next.
  private var last = 0

  var all: Dictionary<String, Int>.Values { numbers.values }

  func number(of name: String) -> Int? {
    last != Self.local && states[last].name == name ? last : numbers[name]
  }

  /// The number of a host, which is added if new; 0 for nil.
  mutating func number(for name: String?) -> Int {
    guard let name else { return Self.local }
    if let known = number(of: name) {
      last = known
      return known
    }
    let number = free.popLast() ?? states.count
    let state = HostState(name: name, ownLimit: ownLimits[name])
    if number == states.count { states.append(state) } else { states[number] = state }
    numbers[name] = number
    last = number
    return number
  }

  mutating func forget(_ number: Int) {
    numbers[states[number].name] = nil
    states[number] = HostState(name: "")
    free.append(number)
  }
}
