import GRDB

/// The tables, as a list of migrations that only grows: what is there never changes.
enum Schema {
  /// "Haul" in ASCII.
  static let applicationID = 0x4861_756C
  /// That of the last migration.
  static let version = 3

  static let migrator: DatabaseMigrator = {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("v1") { db in
      for statement in SchemaV1.statements { try db.execute(sql: statement) }
      try db.execute(sql: "PRAGMA application_id = \(applicationID)")
      try db.execute(sql: "PRAGMA user_version = 1")
    }
    migrator.registerMigration("v2: files that are somebody's own") { db in
      for statement in SchemaV2.statements { try db.execute(sql: statement) }
      try db.execute(sql: "PRAGMA user_version = 2")
    }
    migrator.registerMigration("v3: places of bytes") { db in
      for statement in SchemaV3.statements { try db.execute(sql: statement) }
      try db.execute(sql: "PRAGMA user_version = 3")
    }
    return migrator
  }()
}
