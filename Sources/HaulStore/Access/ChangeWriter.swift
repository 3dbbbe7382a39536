import GRDB
import HaulCore

/// Writes a change in one transaction: additions first, then updates, removals, satisfied
/// dependencies, programs, locations, aborts, the batch, the events.
struct ChangeWriter {
  /// The most events and keys that the store keeps.
  struct Limits: Sendable {
    let events: Int
    let keys: Int
  }

  private let db: Database
  private let rows: RowNumbers
  private let requestMemo: RequestMemo
  private let limits: Limits
  private let reached: @Sendable () -> Void
  private let coding = RowCoding()
  /// The rows that this change adds, by id and in order.
  private var numbers = IDIndex()
  private var added: [(id: TransferID, number: UInt32)] = []
  /// Whether it removed secrets, which the log of the database still holds.
  private(set) var hasRemovedSecrets = false

  init(
    db: Database, rows: RowNumbers, requestMemo: RequestMemo, limits: Limits,
    reached: @escaping @Sendable () -> Void
  ) {
    self.db = db
    (self.rows, self.requestMemo) = (rows, requestMemo)
    self.limits = limits
    self.reached = reached
  }

  /// The number of rows after which their memory is released.
  private static let manyRows = 10_000

  mutating func write(_ change: StoreChange) throws {
    try rows.load(db)
    try db.inPreparedTransaction {
      try add(change.added, at: change.time)
      try update(change.updated, at: change.time)
      try remove(change.removed)
      try forgetDependencies(on: change.satisfiedDependencies)
      try note(change.programs)
      try note(change.locations)
      try note(change.pendingAborts, ended: change.endedAborts)
      if let batch = change.batch { try StoredBatch.write(batch, kept: limits.keys, db: db) }
      reached()
      try EventWriter(db: db, kept: limits.events, coding: coding).write(change.events)
      reached()
    }
    rows.note(added: added, removed: change.removed)
    if change.added.count + change.updated.count + change.removed.count > Self.manyRows {
      db.releaseMemory()
    }
  }

  /// Nil for an unknown id.
  private func number(of id: TransferID) -> Int64? {
    numbers[id].map(Int64.init) ?? rows.number(of: id)
  }

  private mutating func add(_ records: [TransferRecord], at time: Double?) throws {
    guard !records.isEmpty else { return }
    var requests = try RequestWriter(db: db, coding: coding, requestMemo: requestMemo)
    var results =
      try records.contains { $0.result != nil }
      ? ResultWriter(db: db, coding: coding) : nil
    var insert = try RowStatement(db, Self.insertMember)
    var sequence = try rows.last(db)
    if records.count > 1 {
      numbers.reserve(records.count)
      added.reserveCapacity(records.count)
    }
    for record in records {
      sequence += 1
      let row = try RowNumbers.number(sequence)
      guard rows.number(of: record.id) == nil, numbers.set(record.id, to: row) else {
        throw TransferError(.io, "an id was added twice", advice: "use a new one")
      }
      added.append((record.id, row))
      insert.begin()
      try insert.bind(sequence)
      try insert.bind(Int64(record.id.bits))
      try StateColumns.bind(record.storedState, to: &insert, coding)
      try MemberColumns.bind(record.request, to: &insert)
      try insert.bind(record.result?.plainEnd)
      try insert.bind(time)
      try insert.execute()
      reached()
      try requests.insert(record.request, sequence)
      if let result = record.result { try results?.set(result, of: sequence...sequence) }
    }
  }

  /// Writes consecutive rows with the same new state together: a command to the whole list has
  /// many.
  private mutating func update(_ updates: [StoreChange.Update], at time: Double?) throws {
    guard !updates.isEmpty else { return }
    var requests = try RequestWriter(db: db, coding: coding, requestMemo: requestMemo)
    var results = try ResultWriter(db: db, coding: coding)
    var pending: ConsecutiveUpdates?
    for update in updates {
      guard let sequence = number(of: update.id) else { continue }
      if pending?.extend(by: update, at: sequence) == true { continue }
      try pending?.write(db, &results, coding, at: time)
      pending = ConsecutiveUpdates(update, at: sequence)
      reached()
      if let request = update.request { try replace(request, of: sequence, &requests) }
    }
    try pending?.write(db, &results, coding, at: time)
  }

  private mutating func remove(_ ids: [TransferID]) throws {
    guard !ids.isEmpty else { return }
    var delete = try RowStatement(db, "DELETE FROM members WHERE seq = ?")
    for id in ids {
      guard let sequence = number(of: id) else { continue }
      try noteSecrets(of: sequence)
      delete.begin()
      try delete.bind(sequence)
      try delete.execute()
      reached()
    }
  }

  private func forgetDependencies(on ids: [TransferID]) throws {
    for id in ids {
      try db.cachedStatement(sql: "DELETE FROM dependencies WHERE id = ?")
        .execute(arguments: StatementArguments(of: [Int64(id.bits).databaseValue]))
      reached()
    }
  }

  private func note(_ programs: [StoredProcess]) throws {
    for program in programs {
      guard let sequence = number(of: program.id) else { continue }
      try ProgramRows.put(program.process, of: sequence, db: db)
      reached()
    }
  }

  private func note(_ locations: [StoredLocation]) throws {
    for stored in locations {
      guard let sequence = number(of: stored.id) else { continue }
      try LocationRows.put(stored.location, of: sequence, db: db)
      reached()
    }
  }

  private mutating func note(_ aborts: [PendingAbort], ended: [TransferID]) throws {
    for abort in aborts {
      try AbortRows.put(abort, coding, db: db)
      reached()
    }
    for id in ended where try AbortRows.delete(id, db: db) { hasRemovedSecrets = true }
  }

  private mutating func noteSecrets(of sequence: Int64) throws {
    guard !hasRemovedSecrets else { return }
    let find = try db.cachedStatement(sql: "SELECT 1 FROM secrets WHERE member = ?")
    hasRemovedSecrets = try Int.fetchOne(find, arguments: [sequence]) != nil
  }

  private mutating func replace(
    _ request: TransferRequest, of sequence: Int64, _ requests: inout RequestWriter
  ) throws {
    var update = try RowStatement(db, Self.updateMember)
    update.begin()
    try MemberColumns.bind(request, to: &update)
    try update.bind(sequence)
    try update.execute()
    try noteSecrets(of: sequence)
    for table in ["requests", "secrets", "dependencies"] {
      try db.cachedStatement(sql: "DELETE FROM \(table) WHERE member = ?")
        .execute(arguments: StatementArguments([sequence]))
    }
    try requests.insert(request, sequence)
  }

  private static let insertMember = """
    INSERT INTO members (seq, id, \(StateColumns.list), \(MemberColumns.list), plain_end,
      added)
    VALUES (?\(String(repeating: ", ?", count: 1 + 10 + 7 + 2)))
    """
  private static let updateMember = "UPDATE members SET \(MemberColumns.assignments) WHERE seq = ?"
}

extension Database {
  /// As `inTransaction(.immediate)`, which parses both statements each time: that takes as long as
  /// a small change.
  fileprivate func inPreparedTransaction(_ body: () throws -> Void) throws {
    try cachedStatement(sql: "BEGIN IMMEDIATE TRANSACTION").execute()
    do {
      try body()
      try cachedStatement(sql: "COMMIT TRANSACTION").execute()
    } catch {
      // SQLite has rolled back already if, for example, the disk is full.
      if isInsideTransaction { try? rollback() }
      throw error
    }
  }
}
