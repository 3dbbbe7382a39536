import GRDB

/// The index inside one transaction.
package struct BlobTable {
  let db: Database

  package func insert(_ row: BlobRow) throws {
    try db.execute(
      sql: "INSERT INTO blob VALUES (?, ?, ?, ?, ?, ?, ?)",
      arguments: [
        row.name, row.resource, row.selection, row.vary.joined(separator: ","), row.address,
        row.size, row.usedAt,
      ])
  }

  package func remove(_ name: String) throws {
    try db.execute(sql: "DELETE FROM blob WHERE name = ?", arguments: [name])
  }

  package func use(_ name: String, at now: Double) throws {
    try db.execute(sql: "UPDATE blob SET usedAt = ? WHERE name = ?", arguments: [now, name])
  }

  /// Those of one resource, the last used first.
  package func rows(of resource: String) throws -> [BlobRow] {
    try fetch("WHERE resource = ? ORDER BY usedAt DESC", [resource])
  }

  /// The least recently used ones.
  package func oldest(_ count: Int) throws -> [BlobRow] {
    try fetch("ORDER BY usedAt LIMIT ?", [count])
  }

  package func unused(since time: Double) throws -> [BlobRow] {
    try fetch("WHERE usedAt < ?", [time])
  }

  /// All of them, the last used first.
  package func all() throws -> [BlobRow] { try fetch("ORDER BY usedAt DESC", []) }

  package func names() throws -> Set<String> {
    try String.fetchSet(db, sql: "SELECT name FROM blob")
  }

  /// Bytes of all blobs.
  package func total() throws -> Int64 {
    try Int64.fetchOne(db, sql: "SELECT bytes FROM total") ?? 0
  }

  /// A last use in the future, from before the clock was set back, becomes one now. Otherwise it
  /// would be kept longest.
  package func clampUses(to now: Double) throws {
    try db.execute(sql: "UPDATE blob SET usedAt = ? WHERE usedAt > ?", arguments: [now, now])
  }

  private func fetch(_ condition: String, _ arguments: StatementArguments) throws -> [BlobRow] {
    let sql = "SELECT name, resource, selection, vary, address, size, usedAt FROM blob "
    return try Row.fetchAll(db, sql: sql + condition, arguments: arguments).map(BlobRow.init)
  }
}

extension BlobRow {
  fileprivate init(_ row: Row) {
    name = row["name"]
    resource = row["resource"]
    selection = row["selection"]
    let names: String = row["vary"]
    vary = names.byteSplit(separator: ",").map(String.init)
    address = row["address"]
    size = row["size"]
    usedAt = row["usedAt"]
  }
}
