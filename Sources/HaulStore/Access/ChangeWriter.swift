import GRDB
import HaulCore

/// Writes a change in one transaction: first what is added, then updates, removals, what is satisfied, the batch, the events.
struct ChangeWriter {
  private let db: Database
  private let keptEvents: Int
  private let passes: @Sendable () -> Void
  private let coding = FormCoding()
  private var results = FormMemory<StoredResult>()

  init(db: Database, keptEvents: Int, passes: @escaping @Sendable () -> Void) {
    self.db = db
    self.keptEvents = keptEvents
    self.passes = passes
  }

  /// Rows after which the memory that they took is given back.
  private static let manyRows = 10_000

  mutating func write(_ change: StoreChange) throws {
    try db.inTransaction(.immediate) {
      try add(change.added)
      try update(change.updated)
      try delete(change.removed, from: "members")
      try delete(change.satisfied, from: "dependencies")
      if let batch = change.batch { try StoredBatch.write(batch, db: db) }
      passes()
      try EventWriter(db: db, kept: keptEvents, coding: coding).write(change.events)
      passes()
      return .commit
    }
    if change.added.count + change.updated.count + change.removed.count > Self.manyRows {
      db.releaseMemory()
    }
  }

  private mutating func add(_ records: [TransferRecord]) throws {
    guard !records.isEmpty else { return }
    var requests = try RequestWriter(db: db, coding: coding)
    let insert = try db.cachedStatement(sql: Self.insertMember)
    for record in records {
      var values: [DatabaseValue] = []
      values.reserveCapacity(15)
      values.append(Int64(record.id.bits).databaseValue)
      StandingColumns.append(record.standing, to: &values)
      MemberColumns.append(record.request, to: &values)
      try insert.execute(arguments: StatementArguments(of: values))
      let sequence = db.lastInsertedRowID
      passes()
      try requests.insert(record.request, sequence)
      if let result = record.result { try set(result, of: record.id) }
    }
  }

  private mutating func update(_ updates: [StoreChange.Update]) throws {
    guard !updates.isEmpty else { return }
    let statement = try db.cachedStatement(sql: Self.updateStanding)
    var requests = try RequestWriter(db: db, coding: coding)
    for update in updates {
      var values: [DatabaseValue] = []
      values.reserveCapacity(8)
      StandingColumns.append(update.standing, to: &values)
      values.append(Int64(update.id.bits).databaseValue)
      try statement.execute(arguments: StatementArguments(of: values))
      passes()
      if let result = update.result { try set(result, of: update.id) }
      if let request = update.request { try replace(request, of: update.id, &requests) }
    }
  }

  private func delete(_ ids: [TransferID], from table: String) throws {
    guard !ids.isEmpty else { return }
    let statement = try db.cachedStatement(sql: "DELETE FROM \(table) WHERE id = ?")
    for id in ids {
      try statement.execute(arguments: StatementArguments(of: [Int64(id.bits).databaseValue]))
      passes()
    }
  }

  /// Does nothing for an unknown id.
  private mutating func set(_ result: TransferResult, of id: TransferID) throws {
    let text = try results.text(StoredResult(result), coding)
    try db.cachedStatement(sql: Self.putResult).execute(
      arguments: StatementArguments(of: [text.databaseValue, Int64(id.bits).databaseValue]))
  }

  private func replace(
    _ request: TransferRequest, of id: TransferID, _ requests: inout RequestWriter
  ) throws {
    let sequence = try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT seq FROM members WHERE id = ?"),
      arguments: StatementArguments(of: [Int64(id.bits).databaseValue]))
    guard let sequence else { return }
    var values: [DatabaseValue] = []
    MemberColumns.append(request, to: &values)
    values.append(sequence.databaseValue)
    try db.cachedStatement(sql: Self.updateMember).execute(
      arguments: StatementArguments(of: values))
    for table in ["requests", "secrets", "dependencies"] {
      try db.cachedStatement(sql: "DELETE FROM \(table) WHERE member = ?")
        .execute(arguments: StatementArguments([sequence]))
    }
    try requests.insert(request, sequence)
  }

  private static let insertMember = """
    INSERT INTO members (id, \(StandingColumns.list), \(MemberColumns.list))
    VALUES (?\(String(repeating: ", ?", count: 8 + 7)))
    """
  private static let updateStanding =
    "UPDATE members SET \(StandingColumns.assignments) WHERE id = ?"
  private static let updateMember = "UPDATE members SET \(MemberColumns.assignments) WHERE seq = ?"
  private static let putResult = """
    INSERT INTO results (member, form) SELECT seq, ?1 FROM members WHERE id = ?2
    ON CONFLICT (member) DO UPDATE SET form = excluded.form
    """
}
