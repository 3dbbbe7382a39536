import FoundationEssentials
import GRDB
import HaulCore

/// The ids that an `add` with a key created, eight bytes each, lowest byte first.
enum StoredBatch {
  static func write(_ batch: StoreChange.Batch, kept: Int, db: Database) throws {
    var bytes = Data(capacity: batch.ids.count * 8)
    for id in batch.ids {
      withUnsafeBytes(of: id.bits.littleEndian) { bytes.append(contentsOf: $0) }
    }
    try db.cachedStatement(
      sql:
        "INSERT INTO batches (key, ids) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET ids = excluded.ids"
    ).execute(
      arguments: StatementArguments(of: [StoredText.value(batch.key), bytes.databaseValue]))
    try db.cachedStatement(
      sql: "DELETE FROM batches WHERE rowid <= (SELECT max(rowid) FROM batches) - ?"
    ).execute(arguments: StatementArguments(of: [kept.databaseValue]))
  }

  static func ids(of key: String, db: Database) throws -> [TransferID]? {
    let bytes = try Data.fetchOne(
      db.cachedStatement(sql: "SELECT ids FROM batches WHERE key = ?"),
      arguments: StatementArguments(of: [StoredText.value(key)]))
    guard let bytes else { return nil }
    return try stride(from: 0, to: bytes.count, by: 8).map { start in
      let bits = bytes.dropFirst(start).prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
      guard let id = TransferID(bits: bits) else { throw TransferError.unreadable("an id") }
      return id
    }
  }
}
