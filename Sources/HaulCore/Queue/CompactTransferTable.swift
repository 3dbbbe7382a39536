/// The members of a queue, up to a million, in about forty bytes each. Common values are stored
/// once, rare ones apart.
package struct CompactTransferTable: Sendable {
  private struct Row {
    var id: TransferID
    var rank: Int64
    var host: UInt32
    var group: UInt32
    var machine: TransferMachine
    var status: TransferStatus
    var desired: Desired
    var priority: TransferRequest.Priority
    var pausedBy: TransferEvent.Initiator?
    var policy: TransferRequest.DependencyPolicy
    var end: TransferResult.State?
    var marks: Marks
  }

  private struct Marks: OptionSet {
    let rawValue: UInt16

    static let startsOver = Marks(rawValue: 1 << 0)
    static let hasRun = Marks(rawValue: 1 << 1)
    static let isUnderWay = Marks(rawValue: 1 << 2)
    static let isStep = Marks(rawValue: 1 << 3)
    static let isIdempotent = Marks(rawValue: 1 << 4)
    static let isScheduled = Marks(rawValue: 1 << 5)
    static let isPostponed = Marks(rawValue: 1 << 6)
    static let hasIdentifier = Marks(rawValue: 1 << 7)
    static let hasWaitReason = Marks(rawValue: 1 << 8)
  }

  private var numbers = IDTable()
  private var rows = ChunkedArray<Row>()
  private var names = NameTable()
  private var identifiers: [TransferID: String] = [:]
  private var reasons: [TransferID: WaitReason] = [:]

  init() {}

  package var count: Int { rows.count }

  /// The member with this id, without its dependencies, which the graph has.
  package subscript(id: TransferID) -> QueueMachine.Member? {
    numbers[id].map { member(rows[Int($0)]) }
  }

  /// Whether there is a member with this id.
  package func contains(_ id: TransferID) -> Bool { numbers[id] != nil }

  /// Whether it is queued and waits for something other than a slot.
  func isPostponed(_ id: TransferID) -> Bool { has(.isPostponed, id) }

  /// Whether its stored state has a wait reason.
  func hasWaitReason(_ id: TransferID) -> Bool { has(.hasWaitReason, id) }

  private func has(_ mark: Marks, _ id: TransferID) -> Bool {
    numbers[id].map { rows[Int($0)].marks.contains(mark) } ?? false
  }

  /// The state of the member with this id.
  package func state(of id: TransferID) -> TransferMachine.State? {
    numbers[id].map { rows[Int($0)].machine.state }
  }

  /// How it ended, for its dependents; nil as long as it has not.
  func dependencyEnd(of id: TransferID) -> DependencyGraph.End? {
    guard let number = numbers[id] else { return .removed }
    return rows[Int(number)].end?.dependencyEnd
  }

  /// Reports what a queue counts, for each member.
  func tell(
    _ body: (
      _ facts: (rank: Int64, group: String?), _ end: TransferResult.State?, _ isBusy: Bool
    ) -> Void
  ) {
    for row in rows {
      let isBusy = QueueMachine.Member.isBusy(
        row.machine.state, isAwaited: !row.marks.isDisjoint(with: [.isScheduled, .isPostponed]))
      body((row.rank, names.name(row.group)), row.end, isBusy)
    }
  }

  /// The owner of each identifier.
  var idsByIdentifier: [String: TransferID] {
    Dictionary(identifiers.map { ($1, $0) }, uniquingKeysWith: { $1 })
  }

  /// In no order.
  package var values: some RandomAccessCollection<QueueMachine.Member> {
    rows.lazy.map { member($0) }
  }

  /// Each id with its rank, in no order: cheaper than `values`.
  package var ranks: some RandomAccessCollection<(rank: Int64, id: TransferID)> {
    rows.lazy.map { ($0.rank, $0.id) }
  }

  /// Adds a member with a new id; it is found only after `index`.
  mutating func append(_ member: QueueMachine.Member) {
    let marks = marks(of: member)
    note(member, marks)
    rows.append(row(of: member, marks))
  }

  /// Indexes the members that were appended.
  mutating func index() {
    let (rows, first) = (rows, numbers.count)
    _ = numbers.add(
      (first..<rows.count).lazy.map { (rows[$0].id, UInt32(truncatingIfNeeded: $0)) })
  }

  /// Adds or changes a member.
  /// - Returns: the number of its row.
  @discardableResult
  mutating func put(_ member: QueueMachine.Member) -> Int {
    let id = member.facts.id
    let marks = marks(of: member)
    note(member, marks)
    if let number = numbers.number(of: id, orSet: UInt32(rows.count)) {
      let row = rows[Int(number)]
      rows[Int(number)] = make(member, marks, host: row.host, group: row.group)
      return Int(number)
    }
    rows.append(row(of: member, marks))
    return rows.count - 1
  }

  private mutating func row(of member: QueueMachine.Member, _ marks: Marks) -> Row {
    make(
      member, marks, host: names.number(member.facts.host), group: names.number(member.facts.group))
  }

  /// What a stored member needs when its list is opened.
  enum Opened {
    case nothing, recovery
    /// It waits only for a slot, and counts as scheduled from now on.
    case slot(host: String?, TransferRequest.Priority, rank: Int64)
  }

  /// - Parameters:
  ///   - place: its probable index: lists are usually in the order of adding.
  ///   - isReady: whether it waits for no other member.
  mutating func open(_ id: TransferID, near place: Int, isReady: Bool) -> Opened {
    let isThere = place < rows.count && rows[place].id == id
    guard let number = isThere ? place : numbers[id].map(Int.init) else { return .nothing }
    let row = rows[number]
    switch row.machine.state {
    case .queued:
      guard isReady, row.marks.isDisjoint(with: [.hasWaitReason, .isScheduled]),
        !row.marks.isSuperset(of: [.isStep, .isUnderWay])
      else { return .recovery }
      rows[number].marks.insert(.isScheduled)
      return .slot(host: names.name(row.host), row.priority, rank: row.rank)
    case .running, .stopping: return .recovery
    case .paused, .failed, .completed, .cancelled, .removed: return .nothing
    }
  }

  /// The number of queued members.
  package var queued: Int { rows.reduce(0) { $0 + ($1.machine.state == .queued ? 1 : 0) } }

  /// As `put`, for a member whose host may have changed.
  mutating func replace(_ member: QueueMachine.Member) {
    let number = put(member)
    rows[number].host = names.number(member.facts.host)
  }

  /// Removes it; the last one moves to its index.
  mutating func remove(_ id: TransferID) -> QueueMachine.Member? {
    guard let number = numbers.remove(id) else { return nil }
    let member = member(rows[Int(number)])
    if !identifiers.isEmpty { identifiers[id] = nil }
    if !reasons.isEmpty { reasons[id] = nil }
    let last = rows.removeLast()
    if last.id != id {
      rows[Int(number)] = last
      numbers.set(last.id, to: number)
    }
    return member
  }

  private mutating func note(_ member: QueueMachine.Member, _ marks: Marks) {
    let id = member.facts.id
    if marks.contains(.hasIdentifier) { identifiers[id] = member.facts.identifier }
    if marks.contains(.hasWaitReason) || !reasons.isEmpty {
      reasons[id] = member.facts.storedState.waitReason
    }
  }

  private func make(
    _ member: QueueMachine.Member, _ marks: Marks, host: UInt32, group: UInt32
  ) -> Row {
    let storedState = member.facts.storedState
    return Row(
      id: member.facts.id, rank: storedState.rank, host: host, group: group,
      machine: member.machine,
      status: storedState.status, desired: storedState.desired, priority: storedState.priority,
      pausedBy: storedState.pausedBy, policy: member.facts.whenDependencyFails, end: member.end,
      marks: marks)
  }

  private func marks(of member: QueueMachine.Member) -> Marks {
    let storedState = member.facts.storedState
    var marks: Marks = []
    if storedState.startsOver { marks.insert(.startsOver) }
    if storedState.hasRun { marks.insert(.hasRun) }
    if storedState.isUnderWay { marks.insert(.isUnderWay) }
    if storedState.waitReason != nil { marks.insert(.hasWaitReason) }
    if member.facts.isStep { marks.insert(.isStep) }
    if member.facts.isIdempotent { marks.insert(.isIdempotent) }
    if member.facts.identifier != nil { marks.insert(.hasIdentifier) }
    if member.isScheduled { marks.insert(.isScheduled) }
    if member.isPostponed { marks.insert(.isPostponed) }
    return marks
  }

  private func member(_ row: Row) -> QueueMachine.Member {
    let marks = row.marks
    var storedState = StoredState()
    (storedState.status, storedState.desired) = (row.status, row.desired)
    (storedState.rank, storedState.priority, storedState.pausedBy) = (
      row.rank, row.priority, row.pausedBy
    )
    storedState.startsOver = marks.contains(.startsOver)
    storedState.hasRun = marks.contains(.hasRun)
    storedState.isUnderWay = marks.contains(.isUnderWay)
    storedState.waitReason = marks.contains(.hasWaitReason) ? reasons[row.id] : nil
    let facts = QueuedMember(
      id: row.id, storedState: storedState, host: names.name(row.host),
      group: names.name(row.group),
      identifier: marks.contains(.hasIdentifier) ? identifiers[row.id] : nil, after: [],
      whenDependencyFails: row.policy, isStep: marks.contains(.isStep),
      isIdempotent: marks.contains(.isIdempotent))
    return QueueMachine.Member(
      machine: row.machine, facts: facts, isScheduled: marks.contains(.isScheduled),
      isPostponed: marks.contains(.isPostponed), end: row.end)
  }
}

/// Shared names, each stored once for the life of the queue.
private struct NameTable: Sendable {
  /// The first entry is for members without a name.
  private var names: [String?] = [nil]
  private var numbers: [String: UInt32] = [:]
  private var last: UInt32 = 0

  mutating func number(_ name: String?) -> UInt32 {
    guard let name else { return 0 }
    if names[Int(last)] == name { return last }
    last = numbers[name] ?? UInt32(names.count)
    if last == names.count {
      names.append(name)
      numbers[name] = last
    }
    return last
  }

  func name(_ number: UInt32) -> String? { names[Int(number)] }
}
