/// A transfer of the scheduler, from `add` to `remove`. 40 bytes.
struct ScheduledTransfer: Sendable {
  enum Phase: Sendable {
    case queued
    case active
    /// It needs only the disk, and has neither slot nor connection.
    case waitingForDisk
    /// It neither waits for a slot nor has one, and keeps its position.
    case released
  }

  let id: TransferID
  /// Its rank inside its priority.
  var rank: Int64
  /// Orders equal ranks by arrival; kept by `release`.
  var sequence: UInt64
  var connections: Int32 = 0
  /// Its index in its queue; -1 if it is in none.
  var position: Int32 = -1
  private var hostNumber: Int32
  var phase = Phase.released
  /// The level that a person requested for its start; nil for that of its priority.
  var requestedLevel: PriorityLevel?
  var priority: TransferRequest.Priority
  var isDelivering = false

  init(
    _ id: TransferID, host: Int, priority: TransferRequest.Priority, rank: Int64, sequence: UInt64
  ) {
    self.id = id
    self.rank = rank
    self.sequence = sequence
    self.priority = priority
    hostNumber = Int32(truncatingIfNeeded: host)
  }

  /// The number of its host.
  var host: Int {
    get { Int(hostNumber) }
    set { hostNumber = Int32(truncatingIfNeeded: newValue) }
  }

  /// The queue that it belongs to.
  var level: PriorityLevel { requestedLevel ?? PriorityLevel(priority) }
}

/// The order in a queue: by attempts on a silent host, by rank, and by arrival for equal ranks.
struct QueueKey: Comparable, Sendable {
  var hostAttempts = 0
  let rank: Int64
  let sequence: UInt64

  static func < (left: QueueKey, right: QueueKey) -> Bool {
    (left.hostAttempts, left.rank, left.sequence) < (right.hostAttempts, right.rank, right.sequence)
  }
}

/// All members of a scheduler, each under a small number that is used everywhere else.
struct ScheduledTransferTable: HeapOrder, Sendable {
  private var numbers = IDIndex()
  private var members = ChunkedArray<ScheduledTransfer>()
  private var free: [Int32] = []
  /// The numbers of requested starts, of members that have not started.
  private var startOrder: [Int32: Int64] = [:]
  /// The attempts of members on a silent host, if any.
  private var hostAttempts: [Int32: Int] = [:]

  subscript(number: Int32) -> ScheduledTransfer {
    get { members[Int(number)] }
    _modify { yield &members[Int(number)] }
  }

  func number(of id: TransferID) -> Int32? {
    numbers[id].map { Int32(truncatingIfNeeded: $0) }
  }

  func member(_ id: TransferID) -> ScheduledTransfer? { number(of: id).map { self[$0] } }

  mutating func reserve(_ more: Int) {
    numbers.reserve(numbers.count + more)
  }

  mutating func insert(_ member: ScheduledTransfer) -> Int32 {
    let number: Int32
    if let old = free.popLast() {
      number = old
      self[number] = member
    } else {
      number = Int32(truncatingIfNeeded: members.count)
      members.append(member)
    }
    numbers.set(member.id, to: UInt32(truncatingIfNeeded: number))
    return number
  }

  mutating func remove(_ number: Int32) {
    numbers.remove(self[number].id)
    if !startOrder.isEmpty { startOrder[number] = nil }
    if !hostAttempts.isEmpty { hostAttempts[number] = nil }
    free.append(number)
    if numbers.isEmpty { self = ScheduledTransferTable() }
  }

  /// Notes or withdraws a requested start.
  mutating func setStartRequest(_ number: Int32, _ request: StartRequest?) {
    self[number].requestedLevel = request.map { $0.isForced ? .forced : .startNow }
    // Most never had one.
    if request != nil || !startOrder.isEmpty { startOrder[number] = request?.number }
  }

  /// The members with attempts on a silent host.
  var membersWithHostAttempts: [Int32] { Array(hostAttempts.keys) }

  func hostAttempts(of number: Int32) -> Int {
    hostAttempts.isEmpty ? 0 : hostAttempts[number] ?? 0
  }

  mutating func setHostAttempts(of number: Int32, to count: Int) {
    hostAttempts[number] = count > 0 ? count : nil
  }

  /// Its key in the queue of its level.
  func key(of number: Int32) -> QueueKey {
    let member = self[number]
    let hostAttempts = hostAttempts(of: number)
    if member.requestedLevel != nil, let position = startOrder[number] {
      return QueueKey(hostAttempts: hostAttempts, rank: position, sequence: 0)
    }
    return QueueKey(hostAttempts: hostAttempts, rank: member.rank, sequence: member.sequence)
  }

  func precedes(_ left: Int32, _ right: Int32) -> Bool {
    guard hostAttempts.isEmpty, startOrder.isEmpty else { return key(of: left) < key(of: right) }
    let (left, right) = (self[left], self[right])
    return (left.rank, left.sequence) < (right.rank, right.sequence)
  }

  mutating func note(_ number: Int32, at position: Int32) { self[number].position = position }
}
