import GRDB

/// The tables, as an append-only list of migrations: existing migrations never change.
enum Schema {
  /// "Haul" in ASCII.
  static let applicationID = 0x4861_756C
  /// The version of the last migration.
  static var version: Int { migrations.count }

  private static let migrations = [
    ("v1", SchemaV1.statements + ["PRAGMA application_id = \(applicationID)"]),
    ("v2: files that are somebody's own", SchemaV2.statements),
    ("v3: places of bytes", SchemaV3.statements),
    ("v4: reasons to wait", SchemaV4.statements),
    ("v5: requested starts", SchemaV5.statements),
    ("v6: texts of forms", SchemaV6.statements),
    ("v7: remote sources of uploads", SchemaV7.statements),
    ("v8: dates", SchemaV8.statements),
  ]

  static let migrator: DatabaseMigrator = {
    var migrator = DatabaseMigrator()
    for (index, (name, statements)) in migrations.enumerated() {
      migrator.registerMigration(name) { db in
        for statement in statements { try db.execute(sql: statement) }
        try db.execute(sql: "PRAGMA user_version = \(index + 1)")
      }
    }
    return migrator
  }()
}
