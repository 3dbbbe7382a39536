/// A transfer of the scheduler, from `add` to `remove`. 40 bytes.
struct Member: Sendable {
  enum Phase: Sendable {
    case queued
    case active
    /// It needs only the disk: it has neither slot nor connection.
    case waitingForDisk
    case paused
  }

  /// What a person requested about its start; valid until it has started.
  enum Call: Sendable {
    case none
    /// "Start now": before all others, within the limits.
    case express
    /// Beyond the limits on active transfers.
    case forced
  }

  let id: TransferID
  /// Its rank inside its priority.
  var rank: Int64
  /// Orders equal ranks: first come, first served; kept over pause and resume.
  var sequence: UInt64
  var connections: Int32 = 0
  /// Its index in its queue; -1 if it is in none.
  var position: Int32 = -1
  private var hostNumber: Int32
  var phase = Phase.paused
  var call = Call.none
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
  var level: PriorityLevel {
    switch call {
    case .none: PriorityLevel(priority)
    case .express: .express
    case .forced: .forced
    }
  }
}

/// The order in a queue: by the number of attempts on a silent host, by rank, and for equal ranks
/// first come, first served.
struct QueueKey: Comparable, Sendable {
  var asks = 0
  let rank: Int64
  let sequence: UInt64

  static func < (left: QueueKey, right: QueueKey) -> Bool {
    (left.asks, left.rank, left.sequence) < (right.asks, right.rank, right.sequence)
  }
}

/// All members of a scheduler, each under a small number that is used everywhere else.
struct TransferTable: HeapOrder, Sendable {
  private var numbers = IDTable()
  private var members = ChunkedArray<Member>()
  private var free: [Int32] = []
  /// The order in which starts were requested, for members that have not started.
  private var calls: [Int32: UInt64] = [:]
  private var lastCall: UInt64 = 0
  /// The attempts of members on a silent host, if any.
  private var asks: [Int32: Int] = [:]

  subscript(number: Int32) -> Member {
    get { members[Int(number)] }
    _modify { yield &members[Int(number)] }
  }

  func number(of id: TransferID) -> Int32? {
    numbers[id].map { Int32(truncatingIfNeeded: $0) }
  }

  func member(_ id: TransferID) -> Member? { number(of: id).map { self[$0] } }

  mutating func reserve(_ more: Int) {
    numbers.reserve(numbers.count + more)
  }

  mutating func insert(_ member: Member) -> Int32 {
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
    if !calls.isEmpty { calls[number] = nil }
    if !asks.isEmpty { asks[number] = nil }
    free.append(number)
    if numbers.isEmpty { self = TransferTable() }
  }

  /// Notes or withdraws a requested start; the first request goes first.
  mutating func call(_ number: Int32, _ call: Member.Call) {
    self[number].call = call
    if call == .none {
      // Most never had one.
      if !calls.isEmpty { calls[number] = nil }
    } else {
      lastCall += 1
      calls[number] = lastCall
    }
  }

  /// The members with attempts on a silent host.
  var asked: [Int32] { Array(asks.keys) }

  func asks(of number: Int32) -> Int { asks.isEmpty ? 0 : asks[number] ?? 0 }

  mutating func setAsks(of number: Int32, to count: Int) { asks[number] = count > 0 ? count : nil }

  /// Its key in the queue of its level.
  func place(of number: Int32) -> QueueKey {
    let member = self[number]
    let asks = asks(of: number)
    if member.call != .none, let call = calls[number] {
      return QueueKey(asks: asks, rank: 0, sequence: call)
    }
    return QueueKey(asks: asks, rank: member.rank, sequence: member.sequence)
  }

  func precedes(_ left: Int32, _ right: Int32) -> Bool {
    guard asks.isEmpty, calls.isEmpty else { return place(of: left) < place(of: right) }
    let (left, right) = (self[left], self[right])
    return (left.rank, left.sequence) < (right.rank, right.sequence)
  }

  mutating func note(_ number: Int32, at position: Int32) { self[number].position = position }
}
