import GRDB
import HaulCore

/// Checks a database through a read-only connection: its owner, its version, and whether it is
/// damaged.
struct Inspection {
  let path: String
  /// Whether a rollback journal must be applied first, which needs a writable connection.
  let rollsBack: Bool
  /// Whether every page is checked.
  let checksAllPages: Bool

  /// The damage; nil if there is none.
  /// - Throws: `io` for a database that is not Haul's or is of a newer version.
  func damage() throws(TransferError) -> String? {
    do {
      return try reading { db in checksAllPages ? try quickCheck(db) : nil }
    } catch let error as DatabaseError where error.isDamage {
      return error.message ?? "SQLite cannot read it"
    } catch {
      throw TransferError(storing: error, while: "check the queue's database")
    }
  }

  /// Reads a database that is Haul's, and not of a newer version.
  func reading<Value>(_ body: (Database) throws -> Value) throws -> Value {
    var configuration = Configuration()
    configuration.readonly = !rollsBack
    configuration.label = "haul.store.inspection"
    configuration.busyMode = .timeout(5)
    configuration.prepareDatabase { try $0.execute(sql: "PRAGMA trusted_schema = OFF") }
    let queue = try DatabaseQueue(path: path, configuration: configuration)
    let value = try queue.read { db in
      try checkOwner(db)
      try checkVersion(db)
      return try body(db)
    }
    try queue.close()
    return value
  }

  private func checkOwner(_ db: Database) throws {
    let owner = try Int.fetchOne(db, sql: "PRAGMA application_id") ?? 0
    if owner == Schema.applicationID { return }
    let tables = try Int.fetchOne(
      db,
      sql: """
        SELECT count(*) FROM sqlite_schema
        WHERE type = 'table' AND name NOT LIKE 'grdb@_%' ESCAPE '@'
        """)
    // A database whose creation was interrupted is empty.
    guard owner == 0, tables == 0 else {
      throw TransferError(
        .io, "\(path) is not a queue of Haul",
        advice: "move it away, or give the queue another directory")
    }
  }

  private func checkVersion(_ db: Database) throws {
    let version = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
    let isNewer =
      try version > Schema.version
      || Schema.migrator.appliedIdentifiers(db).contains {
        !Schema.migrator.migrations.contains($0)
      }
    if isNewer {
      throw TransferError(
        .io,
        "\(path) was written by a newer version of Haul (schema \(version), this one knows "
          + "\(Schema.version))",
        advice: "use that version, or give this one another directory")
    }
  }

  private func quickCheck(_ db: Database) throws -> String? {
    let finding = try String.fetchOne(db, sql: "PRAGMA quick_check(1)")
    return finding == "ok" ? nil : finding ?? "the check gave no result"
  }
}
