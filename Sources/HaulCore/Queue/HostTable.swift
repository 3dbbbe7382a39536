/// What the scheduler knows of a host: who waits for it, and how much of it is in use.
struct HostState: Sendable {
  let name: String
  /// Members of the scheduler, whatever they do.
  var members = 0
  /// Members that are queued.
  var waiting = 0
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
  /// Until when it asked to be left alone.
  var backOffUntil: Instant?
  /// Whether it has answered a transfer.
  var hasAnswered = false
  /// Nil while it answers, as far as anybody knows.
  var outage: HostOutage?
  /// Who waits, by lane.
  var queues = [IndexedHeap](repeating: IndexedHeap(), count: PriorityLevel.allCases.count)
  /// The lanes in which anybody has waited, a bit for each: in the others there is nothing to look
  /// for.
  private var levels: UInt8 = 0

  init(name: String) { self.name = name }

  func hasUsed(_ level: PriorityLevel) -> Bool { levels & 1 << level.rawValue != 0 }

  mutating func insert(_ number: Int32, _ level: PriorityLevel, in members: inout TransferTable) {
    levels |= 1 << level.rawValue
    queues[level.rawValue].insert(number, in: &members)
  }

  /// Whether nothing would be lost by forgetting the host.
  var isForgettable: Bool {
    members == 0 && connections == 0 && learnedCap == nil && settledConnections == nil
      && backOffUntil == nil
  }

  func connectionCap(_ limits: Scheduler.Limits) -> Int {
    min(limits.connectionsPerHost, learnedCap ?? .max)
  }

  /// Whether one more transfer would find a connection.
  func hasConnection(_ limits: Scheduler.Limits) -> Bool {
    connections + unconnected < connectionCap(limits)
  }

  /// Whether one more transfer, with one connection, fits.
  func hasRoom(_ limits: Scheduler.Limits) -> Bool {
    active < limits.activePerHost && hasConnection(limits)
  }

  /// When time alone opens it again.
  var alarm: Instant? {
    guard let until = outage?.until else { return backOffUntil }
    return min(until, backOffUntil ?? until)
  }

  /// Ends the pauses that are over.
  mutating func wake(at now: Instant) {
    if let until = backOffUntil, until <= now { backOffUntil = nil }
    if let until = outage?.until, until <= now { outage?.until = nil }
  }

  /// Whether the first of a lane may start, as far as the host is concerned.
  func isOpen(_ level: PriorityLevel, _ limits: Scheduler.Limits) -> Bool {
    guard backOffUntil == nil, outage?.isOpen ?? true else { return false }
    return level == .forced ? hasConnection(limits) : hasRoom(limits)
  }
}

/// The hosts, each under a small number, so that a member needs no copy of the name. Number 0 is no
/// host: local steps.
struct HostTable: Sendable {
  static let local = 0

  /// By number; changed in place, as a copy would copy the queues.
  var states = [HostState(name: "")]
  private var numbers: [String: Int] = [:]
  private var free: [Int] = []
  /// The one that was added to last: mostly it is the one that is looked for.
  private var last = 0

  var all: Dictionary<String, Int>.Values { numbers.values }

  func number(of name: String) -> Int? {
    last != Self.local && states[last].name == name ? last : numbers[name]
  }

  /// The number of a host, which is noted if it is new; of no host for nil.
  mutating func number(for name: String?) -> Int {
    guard let name else { return Self.local }
    if let known = number(of: name) {
      last = known
      return known
    }
    let number = free.popLast() ?? states.count
    if number == states.count {
      states.append(HostState(name: name))
    } else {
      states[number] = HostState(name: name)
    }
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
