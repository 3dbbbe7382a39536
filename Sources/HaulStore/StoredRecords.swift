import GRDB
package import HaulCore

/// The list of a store that is not opened for use, read without its lock: nothing is written, and
/// another process may use the store meanwhile.
package struct StoredRecords: Sendable {
  private let directory: StoreDirectory

  package init(directory: String) { self.directory = StoreDirectory(path: directory) }

  /// Whether there is a database.
  package var exists: Bool { directory.hasDatabase }

  /// What a closure makes of the records, and of where their bytes are, in the order of the list or
  /// from its end.
  /// - Parameters:
  ///   - count: the most values that are read.
  ///   - value: nil for a record that is left out. It is called on a thread that may block.
  /// - Throws: `io` when the database is damaged, of another version, or not a queue.
  package func read<Value: Sendable>(
    fromEnd: Bool = false, atMost count: Int = .max,
    _ value: @escaping @Sendable (TransferRecord, FileLocation?) -> Value?
  ) async throws(TransferError) -> [Value] {
    try await OneShot<Result<[Value], TransferError>>.wait { oneShot in
      StoreThreads.run {
        oneShot.give(
          Result { () throws(TransferError) in try values(fromEnd, count, value) })
      }
    }.get()
  }

  private func values<Value>(
    _ fromEnd: Bool, _ count: Int, _ value: (TransferRecord, FileLocation?) -> Value?
  ) throws(TransferError) -> [Value] {
    do {
      let inspection = Inspection(
        path: directory.database, rollsBack: false, checksAllPages: false)
      return try inspection.reading { db in
        try checkIsPresent(db)
        let locations = try LocationRows.all(db)
        var reader = try RecordReader(db: db)
        var values: [Value] = []
        let order = fromEnd ? "rank DESC, id DESC" : "rank, id"
        let rows = try Int64.fetchCursor(db, sql: "SELECT seq FROM members ORDER BY \(order)")
        while values.count < count, let row = try rows.next() {
          guard let record = try reader.record(row) else { continue }
          if let found = value(record, locations[record.id]) { values.append(found) }
        }
        return values
      }
    } catch {
      throw TransferError(storing: error, while: "read the stored list")
    }
  }

  /// Only opening a store for use brings it to the present version.
  private func checkIsPresent(_ db: Database) throws {
    let version = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
    guard version == Schema.version else {
      throw TransferError(
        .io, "\(directory.database) was written by an older version of Haul",
        advice: "start the daemon, which brings it up to date: haul daemon start")
    }
  }
}
