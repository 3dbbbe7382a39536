import FoundationEssentials
import GRDB
package import HaulCore
import Synchronization

/// One blob as the index knows it.
package struct BlobRow: Hashable, Sendable {
  package var name: String
  package var resource: String
  package var selection: String
  package var vary: [String]
  package var address: String
  /// Bytes of the file.
  package var size: Int64
  /// When it was used last, in seconds since 1970.
  package var usedAt: Double

  package init(name: String, head: BlobHead, size: Int64, usedAt: Double) {
    self.name = name
    (resource, selection, vary) = (head.resource, head.selection, head.vary)
    (address, self.size, self.usedAt) = (head.address, size, usedAt)
  }
}

/// Which blobs there are, in SQLite, shared by processes. It finds blobs and orders them by their
/// last use; what a blob is, only its own file says.
///
/// The journal is a rollback journal: SQLite 3.40 loses data in WAL mode with several writers.
/// There is no sync, because the index can be made again from the blobs.
package final class BlobIndex: Sendable {
  private let queue: DatabaseQueue
  private static let version = 1

  private let damage = Atomic(false)
  /// Whether SQLite has found damage since it was opened.
  package var isDamaged: Bool { damage.load(ordering: .relaxed) }

  private init(_ queue: DatabaseQueue) { self.queue = queue }

  /// Opens the index, or creates it; nil if it is damaged, or of another version.
  /// - Parameter patience: how long a call waits for other processes.
  package static func open(
    _ path: String, patience: Duration
  ) throws(TransferError) -> BlobIndex? {
    var configuration = Configuration()
    configuration.label = "haul.cache"
    configuration.busyMode = .timeout(patience / .seconds(1))
    configuration.prepareDatabase { db in
      try db.execute(sql: "PRAGMA trusted_schema = OFF")
      _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = TRUNCATE")
      try db.execute(sql: "PRAGMA synchronous = OFF")
    }
    do {
      let queue = try DatabaseQueue(path: path, configuration: configuration)
      try prepare(queue)
      return BlobIndex(queue)
    } catch {
      if isDamage(error) { return nil }
      throw failure(error)
    }
  }

  private static func prepare(_ queue: DatabaseQueue) throws {
    try queue.writeWithoutTransaction { db in
      try db.inTransaction(.immediate) {
        let found = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        if found == version {
          let stored = try String.fetchAll(db, sql: "SELECT sql FROM sqlite_master")
          guard Set(stored) == Set(schema) else { throw DatabaseError(resultCode: .SQLITE_CORRUPT) }
          return .commit
        }
        guard found == 0 else { throw DatabaseError(resultCode: .SQLITE_NOTADB) }
        for statement in schema { try db.execute(sql: statement) }
        try db.execute(sql: "INSERT INTO total VALUES (0)")
        try db.execute(sql: "PRAGMA user_version = \(version)")
        return .commit
      }
      let result = try String.fetchOne(db, sql: "PRAGMA quick_check(1)")
      guard result == "ok" else { throw DatabaseError(resultCode: .SQLITE_CORRUPT) }
    }
  }

  /// The texts that SQLite keeps: an index with others was changed by something else.
  private static let schema = [
    """
    CREATE TABLE blob (
      name TEXT PRIMARY KEY, resource TEXT NOT NULL, selection TEXT NOT NULL, vary TEXT NOT NULL,
      address TEXT NOT NULL, size INTEGER NOT NULL, usedAt REAL NOT NULL
    ) WITHOUT ROWID
    """,
    "CREATE INDEX blob_resource ON blob (resource)",
    "CREATE INDEX blob_usedAt ON blob (usedAt)",
    "CREATE TABLE total (bytes INTEGER NOT NULL)",
    """
    CREATE TRIGGER blob_added AFTER INSERT ON blob
      BEGIN UPDATE total SET bytes = bytes + new.size; END
    """,
    """
    CREATE TRIGGER blob_removed AFTER DELETE ON blob
      BEGIN UPDATE total SET bytes = bytes - old.size; END
    """,
  ]

  /// Runs `body` while no other process writes: it has effect as a whole or not at all.
  package func write<Value>(
    _ body: (BlobTable) throws -> Value
  ) throws(TransferError) -> Value {
    do {
      return try queue.writeWithoutTransaction { db in
        var value: Value?
        try db.inTransaction(.immediate) {
          value = try body(BlobTable(db: db))
          return .commit
        }
        guard let value else { throw DatabaseError(resultCode: .SQLITE_ABORT) }
        return value
      }
    } catch {
      throw noted(error)
    }
  }

  package func read<Value>(_ body: (BlobTable) throws -> Value) throws(TransferError) -> Value {
    do {
      return try queue.read { db in try body(BlobTable(db: db)) }
    } catch {
      throw noted(error)
    }
  }

  private func noted(_ error: any Error) -> TransferError {
    if Self.isDamage(error) { damage.store(true, ordering: .relaxed) }
    return Self.failure(error)
  }

  private static func isDamage(_ error: any Error) -> Bool {
    guard let code = (error as? DatabaseError)?.resultCode else { return false }
    return code == .SQLITE_CORRUPT || code == .SQLITE_NOTADB
  }

  private static func failure(_ error: any Error) -> TransferError {
    if let error = error as? TransferError { return error }
    if (error as? DatabaseError)?.resultCode == .SQLITE_BUSY { return DirectoryLock.heldByAnother }
    let reason = (error as? DatabaseError)?.message ?? "\(error)"
    return TransferError(.io, "cannot use the index of the cache: \(reason)")
  }
}
