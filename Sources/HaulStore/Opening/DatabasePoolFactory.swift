import GRDB

/// The single connection that writes and checkpoints, and the connections that read.
struct DatabasePoolFactory {
  let path: String
  let maximumSize: Int64?
  let lock: StoreLock

  func makePool() throws -> DatabasePool {
    let pool = try DatabasePool(path: path, configuration: configuration)
    try pool.writeWithoutTransaction { db in
      // GRDB's default is NORMAL, which may lose the last commits in a power cut.
      try db.execute(sql: "PRAGMA synchronous = FULL")
      try db.execute(sql: "PRAGMA wal_autocheckpoint = \(Self.pagesOfLog)")
      try db.execute(sql: "PRAGMA journal_size_limit = \(Self.keptLog)")
      if let maximumSize {
        let page = try Int64.fetchOne(db, sql: "PRAGMA page_size") ?? 4096
        _ = try Int64.fetchOne(db, sql: "PRAGMA max_page_count = \(max(maximumSize / page, 1))")
      }
    }
    try Schema.migrator.migrate(pool)
    return pool
  }

  /// Pages in the log before a checkpoint: a page that changes often is then written to the
  /// database once.
  private static let pagesOfLog = 8192
  /// Bytes of log that stay allocated.
  private static let keptLog = 64 << 20

  private var configuration: Configuration {
    var configuration = Configuration()
    configuration.label = "haul.store"
    configuration.foreignKeysEnabled = true
    configuration.maximumReaderCount = 2
    configuration.busyMode = .timeout(5)
    // Each connection keeps the lock, so that it ends after the last connection.
    configuration.prepareDatabase { [lock] db in
      try withExtendedLifetime(lock) {
        try db.execute(sql: "PRAGMA trusted_schema = OFF")
        try db.execute(sql: "PRAGMA cell_size_check = ON")
        // Removed secrets must not stay in free space.
        try db.execute(sql: "PRAGMA secure_delete = ON")
        try db.execute(sql: "PRAGMA temp_store = MEMORY")
        try db.execute(sql: "PRAGMA fullfsync = ON")
        try db.execute(sql: "PRAGMA checkpoint_fullfsync = ON")
        let kibibytes = db.configuration.readonly ? 4096 : 32_768
        try db.execute(sql: "PRAGMA cache_size = -\(kibibytes)")
      }
    }
    return configuration
  }
}
