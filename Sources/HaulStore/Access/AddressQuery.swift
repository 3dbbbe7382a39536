import GRDB
import HaulCore

/// The queued and paused members with some addresses: one pass over the requests, without an index,
/// which would cost each addition time.
struct AddressQuery {
  /// Redacted, as they are stored.
  let addresses: [String]

  func ids(_ db: Database) throws -> [TransferID] {
    let known = try RowCoding().encode(addresses)
    let rows = try Row.fetchCursor(
      db.cachedStatement(sql: Self.query), arguments: StatementArguments(of: [known.databaseValue]))
    var ids: [TransferID] = []
    while let row = try rows.next() {
      ids.append(try TransferID(stored: row.decode(Int64.self, atIndex: 0)))
    }
    return ids
  }

  private static let query = """
    SELECT m.id FROM requests q CROSS JOIN members m ON m.seq = q.member
    WHERE q.address IN (SELECT value FROM json_each(?))
      AND m.status IN (\(StoredStatus.queued.code), \(StoredStatus.paused.code))
    ORDER BY m.rank, m.id
    """
}
