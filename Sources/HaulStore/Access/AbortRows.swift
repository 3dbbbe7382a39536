import GRDB
import HaulCore

/// The uploads that must still be aborted, each as a whole: it holds an access key.
enum AbortRows {
  static func put(_ abort: PendingAbort, _ coding: RowCoding, db: Database) throws {
    try db.cachedStatement(
      sql: "INSERT OR REPLACE INTO secret_aborts (id, request) VALUES (?, ?)"
    ).execute(
      arguments: StatementArguments(of: [
        Int64(abort.id.bits).databaseValue, try coding.encode(abort.request).databaseValue,
      ]))
  }

  /// - Returns: whether there was one.
  static func delete(_ id: TransferID, db: Database) throws -> Bool {
    try db.cachedStatement(sql: "DELETE FROM secret_aborts WHERE id = ?")
      .execute(arguments: StatementArguments(of: [Int64(id.bits).databaseValue]))
    return db.changesCount > 0
  }

  static func all(_ coding: RowCoding, db: Database) throws -> [PendingAbort] {
    let rows = try Row.fetchCursor(db, sql: "SELECT id, request FROM secret_aborts ORDER BY id")
    var aborts: [PendingAbort] = []
    while let row = try rows.next() {
      let text = try row.decode(String.self, atIndex: 1)
      aborts.append(
        PendingAbort(
          id: try TransferID(stored: row.decode(Int64.self, atIndex: 0)),
          request: try coding.decode(UploadRequest.self, text, "upload to abort")))
    }
    return aborts
  }
}
