/// The members of a queue, up to a million, in about forty bytes each. Common values are stored
/// once, rare ones apart.
package struct CompactTransferTable: Sendable {
  private struct Row {
    var id: TransferID
    var rank: Int64
    var host: UInt32
    var group: UInt32
    var machine: TransferMachine
    var status: StoredStatus
    var desired: DesiredState
    var priority: TransferRequest.Priority
    var pausedBy: TransferEvent.Initiator?
    var policy: TransferRequest.DependencyPolicy
    var end: TransferResult.State?
    var flags: Flags
  }

  private struct Flags: OptionSet {
    let rawValue: UInt16

    static let restartsFromZero = Flags(rawValue: 1 << 0)
    static let hasRun = Flags(rawValue: 1 << 1)
    static let wasRunning = Flags(rawValue: 1 << 2)
    static let storesStart = Flags(rawValue: 1 << 3)
    static let isIdempotent = Flags(rawValue: 1 << 4)
    static let isScheduled = Flags(rawValue: 1 << 5)
    static let isPostponed = Flags(rawValue: 1 << 6)
    static let hasIdentifier = Flags(rawValue: 1 << 7)
    static let hasWaitReason = Flags(rawValue: 1 << 8)
    static let hasStartRequest = Flags(rawValue: 1 << 9)
  }

  private var numbers = IDIndex()
  private var rows = ChunkedArray<Row>()
  private var names = NameTable()
  private var identifiers: [TransferID: String] = [:]
  private var reasons: [TransferID: WaitReason] = [:]
  private var startRequests: [TransferID: StartRequest] = [:]

  init() {}

  package var count: Int { rows.count }

  /// The member with this id, without its dependencies, which the graph has.
  package subscript(id: TransferID) -> QueuedMember? {
    numbers[id].map { member(rows[Int($0)]) }
  }

  /// Whether there is a member with this id.
  package func contains(_ id: TransferID) -> Bool { numbers[id] != nil }

  /// Whether it is queued and waits for something other than a slot.
  func isPostponed(_ id: TransferID) -> Bool { has(.isPostponed, id) }

  /// Whether its stored state has a wait reason.
  func hasWaitReason(_ id: TransferID) -> Bool { has(.hasWaitReason, id) }

  private func has(_ flag: Flags, _ id: TransferID) -> Bool {
    numbers[id].map { rows[Int($0)].flags.contains(flag) } ?? false
  }

  /// The state of the member with this id.
  package func state(of id: TransferID) -> TransferMachine.State? {
    numbers[id].map { rows[Int($0)].machine.state }
  }

  /// How it ended, for its dependents; nil until it has.
  func dependencyEnd(of id: TransferID) -> DependencyGraph.End? {
    guard let number = numbers[id] else { return .removed }
    return rows[Int(number)].end?.dependencyEnd
  }

  /// Passes what a queue counts, for each member.
  func forEachSummary(
    _ body: (
      _ rank: Int64, _ group: String?, _ end: TransferResult.State?, _ isOutstanding: Bool
    ) -> Void
  ) {
    for row in rows {
      let isOutstanding = QueuedMember.isOutstanding(
        row.machine.state, willStart: !row.flags.isDisjoint(with: [.isScheduled, .isPostponed]))
      body(row.rank, names.name(row.group), row.end, isOutstanding)
    }
  }

  /// The owner of each identifier.
  var idsByIdentifier: [String: TransferID] {
    Dictionary(identifiers.map { ($1, $0) }, uniquingKeysWith: { $1 })
  }

  /// The highest number of a requested start; 0 without one.
  var lastStartRequest: Int64 { startRequests.values.map(\.number).max() ?? 0 }

  /// The stored pauses of hosts, in no particular order. O(members with a wait reason).
  var hostPauses: [(host: String, until: Double)] {
    reasons.compactMap { id, reason in
      guard case .hostBackOff(let until) = reason, let number = numbers[id],
        let host = names.name(rows[Int(number)].host)
      else { return nil }
      return (host, until)
    }
  }

  /// In no particular order.
  package var values: some RandomAccessCollection<QueuedMember> {
    rows.lazy.map { member($0) }
  }

  /// Each id with its rank, in no particular order; cheaper than `values`.
  package var ranks: some RandomAccessCollection<(rank: Int64, id: TransferID)> {
    rows.lazy.map { ($0.rank, $0.id) }
  }

  /// Adds a member with a new id; lookups find it only after `index`.
  mutating func append(_ member: QueuedMember) {
    let flags = flags(of: member)
    note(member, flags)
    rows.append(row(of: member, flags))
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
  mutating func put(_ member: QueuedMember) -> Int {
    let id = member.id
    let flags = flags(of: member)
    note(member, flags)
    if let number = numbers.number(of: id, orSet: UInt32(rows.count)) {
      let row = rows[Int(number)]
      rows[Int(number)] = make(member, flags, host: row.host, group: row.group)
      return Int(number)
    }
    rows.append(row(of: member, flags))
    return rows.count - 1
  }

  private mutating func row(of member: QueuedMember, _ flags: Flags) -> Row {
    make(
      member, flags, host: names.number(member.host), group: names.number(member.group))
  }

  /// What a stored member needs when its list is opened.
  enum Opened {
    case nothing, recovery
    /// It waits only for a slot, and counts as scheduled from now on.
    case slot(host: String?, TransferRequest.Priority, rank: Int64, StartRequest?)
  }

  /// - Parameters:
  ///   - index: its probable index: lists are usually in the order of adding.
  ///   - isReady: whether it waits for no other member.
  mutating func open(_ id: TransferID, near index: Int, isReady: Bool) -> Opened {
    let exists = index < rows.count && rows[index].id == id
    guard let number = exists ? index : numbers[id].map(Int.init) else { return .nothing }
    let row = rows[number]
    switch row.machine.state {
    case .queued:
      guard isReady, row.flags.isDisjoint(with: [.hasWaitReason, .isScheduled]),
        !row.flags.isSuperset(of: [.storesStart, .wasRunning])
      else { return .recovery }
      rows[number].flags.insert(.isScheduled)
      return .slot(
        host: names.name(row.host), row.priority, rank: row.rank, startRequest(row))
    case .running, .stopping: return .recovery
    case .paused, .failed, .completed, .cancelled, .removed: return .nothing
    }
  }

  /// The number of queued members.
  package var queued: Int { rows.reduce(0) { $0 + ($1.machine.state == .queued ? 1 : 0) } }

  /// As `put`, for a member whose host and group may have changed.
  mutating func replace(_ member: QueuedMember) {
    let number = put(member)
    rows[number].host = names.number(member.host)
    // Most changes are of members that stay in their group, and of one host after the other.
    if names.name(rows[number].group) != member.group {
      rows[number].group = names.number(member.group)
    }
  }

  /// Removes it; the last one moves to its index.
  mutating func remove(_ id: TransferID) -> QueuedMember? {
    guard let number = numbers.remove(id) else { return nil }
    let member = member(rows[Int(number)])
    if !identifiers.isEmpty { identifiers[id] = nil }
    if !reasons.isEmpty { reasons[id] = nil }
    if !startRequests.isEmpty { startRequests[id] = nil }
    let last = rows.removeLast()
    if last.id != id {
      rows[Int(number)] = last
      numbers.set(last.id, to: number)
    }
    return member
  }

  private mutating func note(_ member: QueuedMember, _ flags: Flags) {
    let id = member.id
    if flags.contains(.hasIdentifier) { identifiers[id] = member.identifier }
    if flags.contains(.hasWaitReason) || !reasons.isEmpty {
      reasons[id] = member.storedState.waitReason
    }
    if flags.contains(.hasStartRequest) || !startRequests.isEmpty {
      startRequests[id] = member.storedState.startRequest
    }
  }

  private func make(
    _ member: QueuedMember, _ flags: Flags, host: UInt32, group: UInt32
  ) -> Row {
    let storedState = member.storedState
    return Row(
      id: member.id, rank: storedState.rank, host: host, group: group,
      machine: member.machine,
      status: storedState.status, desired: storedState.desired, priority: storedState.priority,
      pausedBy: storedState.pausedBy, policy: member.whenDependencyFails, end: member.end,
      flags: flags)
  }

  private func flags(of member: QueuedMember) -> Flags {
    let storedState = member.storedState
    var flags: Flags = []
    if storedState.restartsFromZero { flags.insert(.restartsFromZero) }
    if storedState.hasRun { flags.insert(.hasRun) }
    if storedState.wasRunning { flags.insert(.wasRunning) }
    if storedState.waitReason != nil { flags.insert(.hasWaitReason) }
    if storedState.startRequest != nil { flags.insert(.hasStartRequest) }
    if member.storesStart { flags.insert(.storesStart) }
    if member.isIdempotent { flags.insert(.isIdempotent) }
    if member.identifier != nil { flags.insert(.hasIdentifier) }
    if member.isScheduled { flags.insert(.isScheduled) }
    if member.isPostponed { flags.insert(.isPostponed) }
    return flags
  }

  private func startRequest(_ row: Row) -> StartRequest? {
    row.flags.contains(.hasStartRequest) ? startRequests[row.id] : nil
  }

  private func member(_ row: Row) -> QueuedMember {
    let flags = row.flags
    var storedState = StoredState()
    (storedState.status, storedState.desired) = (row.status, row.desired)
    (storedState.rank, storedState.priority, storedState.pausedBy) = (
      row.rank, row.priority, row.pausedBy
    )
    storedState.restartsFromZero = flags.contains(.restartsFromZero)
    storedState.hasRun = flags.contains(.hasRun)
    storedState.wasRunning = flags.contains(.wasRunning)
    storedState.waitReason = flags.contains(.hasWaitReason) ? reasons[row.id] : nil
    storedState.startRequest = startRequest(row)
    var member = QueuedMember(
      id: row.id, storedState: storedState, whenDependencyFails: row.policy,
      storesStart: flags.contains(.storesStart), isIdempotent: flags.contains(.isIdempotent))
    (member.host, member.group) = (names.name(row.host), names.name(row.group))
    member.identifier = flags.contains(.hasIdentifier) ? identifiers[row.id] : nil
    (member.machine, member.end) = (row.machine, row.end)
    member.isScheduled = flags.contains(.isScheduled)
    member.isPostponed = flags.contains(.isPostponed)
    return member
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
