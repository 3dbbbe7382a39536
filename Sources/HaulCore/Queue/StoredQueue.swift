/// The contents of a store when it is opened, in a compact form: a million complete records would
/// need 120 MB.
public struct StoredQueue: Sendable {
  var memberTable = CompactTransferTable()
  /// The dependencies of members that have any.
  var nodes: [DependencyGraph.Node] = []
  /// The exact target paths of members.
  var targets: [(id: TransferID, target: FilePath)] = []
  /// The number of the newest event; 0 before the first.
  public var lastEvent = 0
  /// The last stored process of each member that was under way.
  public var programs: [StoredProcess] = []
  /// The locations of bytes of members that will continue.
  public var locations: [TransferID: FileLocation] = [:]
  /// Uploads that must still be aborted.
  public var pendingAborts: [PendingAbort] = []
  /// The rank of the last member, as long as they come in order.
  private var last: (rank: Int64, id: TransferID)?
  private var isInOrder = true

  /// The contents of a store with these records.
  /// - Parameters:
  ///   - records: cheapest in the order of their ranks.
  ///   - lastEvent: the number of the newest event ever stored; 0 before the first.
  public init(records: some Sequence<TransferRecord>, lastEvent: Int = 0) {
    self.init(lastEvent: lastEvent)
    for record in records { append(QueuedMember(record)) }
  }

  package init(
    members: [QueuedMember] = [], lastEvent: Int = 0, programs: [StoredProcess] = []
  ) {
    self.lastEvent = lastEvent
    self.programs = programs
    for member in members { append(member) }
  }

  /// Adds a member with a new id; cheapest in the order of ranks.
  package mutating func append(_ member: QueuedMember) {
    var member = member
    member.reopen()
    memberTable.append(member)
    if !member.after.isEmpty {
      nodes.append(
        DependencyGraph.Node(
          id: member.id, after: member.after, policy: member.whenDependencyFails))
    }
    if let target = member.target { targets.append((member.id, target)) }
    let key = (member.storedState.rank, member.id)
    if let last, key < last { isInOrder = false }
    last = key
  }

  /// Ordered by rank.
  var ids: [TransferID] {
    isInOrder ? memberTable.ranks.map(\.id) : memberTable.ranks.sorted { $0 < $1 }.map(\.id)
  }

  /// Ordered by rank.
  package var members: [QueuedMember] {
    let after = Dictionary(nodes.map { ($0.id, $0.after) }, uniquingKeysWith: { $1 })
    let targets = Dictionary(targets.map { ($0.id, $0.target) }, uniquingKeysWith: { $1 })
    let members = memberTable.values.map { member in
      var member = member
      (member.after, member.target) = (after[member.id] ?? [], targets[member.id])
      return member
    }
    return members.sorted { ($0.storedState.rank, $0.id) < ($1.storedState.rank, $1.id) }
  }
}

extension StoredStatus {
  /// The end that this status means; nil for none.
  package var end: TransferResult.State? {
    switch self {
    case .queued, .paused: nil
    case .failed: .failed
    case .completed: .completed
    case .cancelled: .cancelled
    }
  }
}
