import GRDB
import HaulCore

/// Reads what decisions need of every member: one pass through one narrow table.
struct QueueReader {
  let db: Database

  func queue() throws -> StoredQueue {
    var members = try members()
    // They were mostly added in this order, so this is mostly a look.
    let isSorted = zip(members, members.dropFirst()).allSatisfy { $0.precedes($1) }
    if !isSorted { members.sort { $0.precedes($1) } }
    let last = try Int.fetchOne(db, sql: "SELECT max(number) FROM events")
    return StoredQueue(
      members: members, lastEvent: last ?? 0, programs: try ProgramRows.underWay(db))
  }

  private func members() throws -> [QueuedMember] {
    var members: [QueuedMember] = []
    members.reserveCapacity(try Int.fetchOne(db, sql: "SELECT count(*) FROM members") ?? 0)
    var dependencies = try DependencyRows(db: db)
    var (hosts, groups) = (Interner(), Interner())
    let rows = try Row.fetchCursor(
      db,
      sql:
        "SELECT seq, id, \(StandingColumns.list), \(MemberColumns.list) FROM members ORDER BY seq")
    while let row = try rows.next() {
      members.append(try member(row, &dependencies, &hosts, &groups))
    }
    return members
  }

  private func member(
    _ row: Row, _ dependencies: inout DependencyRows, _ hosts: inout Interner,
    _ groups: inout Interner
  ) throws -> QueuedMember {
    let sequence = try row.decode(Int64.self, atIndex: 0)
    let hasDependencies = try row.decode(Int.self, atIndex: 16) > 0
    return QueuedMember(
      id: try TransferID(stored: row.decode(Int64.self, atIndex: 1)),
      standing: try StandingColumns.standing(row, from: 2),
      host: hosts.shared(try StoredText.text(row, 10)),
      group: groups.shared(try StoredText.text(row, 11)),
      identifier: try StoredText.text(row, 12),
      after: hasDependencies ? try dependencies.ids(of: sequence) : [],
      whenDependencyFails: try TransferRequest.DependencyPolicy(
        code: row.decode(Int.self, atIndex: 13), "rule for dependencies"),
      isStep: try row.decode(Bool.self, atIndex: 14),
      isIdempotent: try row.decode(Bool.self, atIndex: 15))
  }
}

extension QueuedMember {
  fileprivate func precedes(_ other: QueuedMember) -> Bool {
    (standing.rank, id) < (other.standing.rank, other.id)
  }
}

/// Dependencies in the order of their members, read alongside them.
private struct DependencyRows {
  private let rows: RowCursor
  private var next: (member: Int64, id: TransferID)?

  init(db: Database) throws {
    rows = try Row.fetchCursor(
      db,
      sql: "SELECT member, id FROM dependencies WHERE id IS NOT NULL ORDER BY member, position")
    try advance()
  }

  /// To be called with rising numbers.
  mutating func ids(of member: Int64) throws -> [TransferID] {
    var ids: [TransferID] = []
    while let found = next, found.member <= member {
      if found.member == member { ids.append(found.id) }
      try advance()
    }
    return ids
  }

  private mutating func advance() throws {
    next = try rows.next().map { row in
      (
        try row.decode(Int64.self, atIndex: 0),
        try TransferID(stored: row.decode(Int64.self, atIndex: 1))
      )
    }
  }
}

/// Gives equal text one place in memory.
private struct Interner {
  private var known: Set<String> = []
  private var last: String?

  mutating func shared(_ text: String?) -> String? {
    guard let text else { return nil }
    if let last, last == text { return last }
    last = known.insert(text).memberAfterInsert
    return last
  }
}
