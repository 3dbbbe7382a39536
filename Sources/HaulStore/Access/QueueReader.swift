import GRDB
import HaulCore

/// Reads what decisions need of every member, in one pass over one narrow table.
struct QueueReader {
  let db: Database
  private let coding = RowCoding()

  init(db: Database) { self.db = db }

  /// - Parameter numbers: gets the rows of all ids, unless it is nil.
  func queue(noting numbers: inout IDIndex?) throws -> StoredQueue {
    let last = try Int.fetchOne(db, sql: "SELECT max(number) FROM events")
    var queue = StoredQueue(lastEvent: last ?? 0, programs: try ProgramRows.ofRunning(db))
    queue.locations = try LocationRows.all(db)
    queue.pendingAborts = try AbortRows.all(coding, db: db)
    var entries = ContiguousArray<(id: TransferID, number: UInt32)>()
    var dependencies = try dependencies()
    var targets = try targets()
    var marks = PackedMember(0)
    var like: QueuedMember?
    let statement = try db.makeStatement(sql: PackedMember.query)
    let rows = try Row.fetchCursor(statement)
    while try rows.next() != nil {
      let row = RowColumns(statement)
      let sequence = row.number(0)
      let id = try TransferID(stored: row.number(1))
      let found = PackedMember(row.number(3))
      // Most members are like the previous one.
      if like == nil || found != marks { (marks, like) = (found, try found.member(id)) }
      guard var member = like else { continue }
      member.id = id
      member.storedState.rank = row.number(2)
      member.host = try row.text(4)
      try read(row, marks, &member)
      if marks.hasDependencies { member.after = try dependencies.values(of: sequence) }
      member.target = try targets.values(of: sequence).first
      if numbers != nil { entries.append((id, try RowNumbers.number(sequence))) }
      queue.append(member)
    }
    if numbers?.add(entries) == false {
      throw TransferError.unreadable("two transfers with one id")
    }
    return queue
  }

  private func dependencies() throws -> SparseRows<TransferID> {
    try SparseRows(
      db, "SELECT member, id FROM dependencies WHERE id IS NOT NULL ORDER BY member, position"
    ) { try TransferID(stored: $0.decode(Int64.self, atIndex: 1)) }
  }

  /// The exact target paths of members.
  private func targets() throws -> SparseRows<FilePath> {
    try SparseRows(
      db, "SELECT member, target FROM requests WHERE is_exact <> 0 ORDER BY member"
    ) { row in
      guard let path = try StoredText.text(row, 1) else {
        throw TransferError.unreadable("the name of a file")
      }
      return FilePath(path)
    }
  }

  /// Reads the values that few members have.
  private func read(_ row: RowColumns, _ marks: PackedMember, _ member: inout QueuedMember) throws {
    if marks.hasGroup { member.group = try row.text(5) }
    if marks.hasIdentifier { member.identifier = try row.text(6) }
    if marks.wasPaused {
      guard let origin = try row.text(7).flatMap(TransferEvent.Initiator.init) else {
        throw TransferError.unreadable("the initiator of a pause")
      }
      member.storedState.pausedBy = origin
    }
    if marks.hasStartRequest {
      member.storedState.startRequest = try StartRequest(code: row.number(10))
    }
    guard marks.hasWaitReason else { return }
    member.storedState.waitReason = try coding.waitReason(row.text(9), retryAt: row.real(8))
  }
}

/// The small columns of a member, which SQLite combines to one number: reading each column would
/// take longer than all the rest.
private struct PackedMember: Equatable {
  private let bits: Int64

  init(_ bits: Int64) { self.bits = bits }

  /// Five columns with eight bits each, then single bits.
  static let query = """
    SELECT seq, id, rank,
      status | (desired << 8) | (priority << 16) | (dependency_policy << 24) | (has_run << 32)
        | ((starts_over <> 0) << 40) | ((is_step <> 0) << 41) | ((is_idempotent <> 0) << 42)
        | ((group_name IS NOT NULL) << 43) | ((identifier IS NOT NULL) << 44)
        | ((paused_by IS NOT NULL) << 45) | ((retry_at IS NOT NULL OR wait_reason IS NOT NULL) << 46)
        | ((dependencies > 0) << 47) | ((start_request IS NOT NULL) << 48),
      host, group_name, identifier, paused_by, retry_at, wait_reason, start_request
    FROM members ORDER BY seq
    """

  var hasGroup: Bool { bit(43) }
  var hasIdentifier: Bool { bit(44) }
  var wasPaused: Bool { bit(45) }
  var hasWaitReason: Bool { bit(46) }
  var hasDependencies: Bool { bit(47) }
  var hasStartRequest: Bool { bit(48) }

  /// A member with these marks, without names.
  /// - Throws: `io` for a value that this version does not know.
  func member(_ id: TransferID) throws(TransferError) -> QueuedMember {
    var storedState = StoredState()
    storedState.status = try StoredStatus(code: byte(0), "state of a transfer")
    storedState.desired = try DesiredState(code: byte(8), "order")
    storedState.priority = try TransferRequest.Priority(code: byte(16), "priority")
    (storedState.hasRun, storedState.wasRunning) = (byte(32) > 0, byte(32) > 1)
    storedState.restartsFromZero = bit(40)
    return QueuedMember(
      id: id, storedState: storedState,
      whenDependencyFails: try TransferRequest.DependencyPolicy(
        code: byte(24), "rule for dependencies"),
      storesStart: bit(41), isIdempotent: bit(42))
  }

  private func byte(_ shift: Int64) -> Int { Int(bits >> shift & 0xFF) }
  private func bit(_ shift: Int64) -> Bool { bits >> shift & 1 == 1 }
}

/// Values that few members have, read in the order of the members.
private struct SparseRows<Value> {
  private let rows: RowCursor
  private let value: (Row) throws -> Value
  private var next: (member: Int64, value: Value)?

  /// - Parameters:
  ///   - sql: selects members, in their order, and their values.
  ///   - value: reads a value.
  init(_ db: Database, _ sql: String, _ value: @escaping (Row) throws -> Value) throws {
    rows = try Row.fetchCursor(db, sql: sql)
    self.value = value
    try advance()
  }

  /// Call it with increasing numbers.
  mutating func values(of member: Int64) throws -> [Value] {
    var values: [Value] = []
    while let found = next, found.member <= member {
      if found.member == member { values.append(found.value) }
      try advance()
    }
    return values
  }

  private mutating func advance() throws {
    next = try rows.next().map { row in
      (try row.decode(Int64.self, atIndex: 0), try value(row))
    }
  }
}
