import GRDB
package import HaulCore
import NIOConcurrencyHelpers
import Synchronization

/// A queue in its own SQLite database, which survives the end of the process and a power cut.
///
/// One connection writes; reads use other connections and see only committed changes. Cancelling a
/// task does not end a call: a change is stored, or fails.
package struct SQLiteStore: AddressSearch {
  /// How a store is opened.
  package struct Options: Sendable {
    /// What happens to a damaged database.
    package var ifDamaged = DamagedStorePolicy.refuse
    /// The most events that the log keeps.
    package var eventLogLimit = 100_000
    /// The most keys of calls that it remembers.
    package var keyLimit = 10_000
    /// The largest database, in bytes; a change that would exceed it fails with `disk-full`. Nil
    /// for no limit.
    package var maximumSize: Int64?
    /// The name that other users of the same store see; nil for the name of the process.
    package var program: String?
    /// Called between statements of a change; a test may end the process there.
    package var reached: @Sendable () -> Void = {}

    package init() {}
  }

  /// What was damaged and moved aside on opening, and its new name: report it to the user.
  package let damage: TransferError?
  private let database: StoreDatabase
  private let rows = RowNumbers()
  private let requestMemo = RequestMemo(RowCodingMemo())
  private let limits: ChangeWriter.Limits
  private let reached: @Sendable () -> Void

  package var isDurable: Bool { true }

  /// Opens the store in this directory (created if missing) for this process only.
  /// - Throws: `in-use` when another process, or another store of this process, has it open;
  ///   `permission-denied` when other users may write there; `io` when it is damaged, of a newer
  ///   version, or not a queue; `disk-full`.
  package init(
    directory: String, clock: any TransferClock, options: Options = Options()
  ) async throws(TransferError) {
    let opener = StoreOpener(
      directory: StoreDirectory(path: directory), clock: clock, options: options)
    (database, damage) = try await opener.perform()
    limits = .init(events: max(options.eventLogLimit, 0), keys: max(options.keyLimit, 0))
    reached = options.reached
  }

  package func open() async throws(TransferError) -> StoredQueue {
    try await database.read("read the queue") { [rows] db in
      try rows.loading { try QueueReader(db: db).queue(noting: &$0) }
    }
  }

  package func commit(_ change: StoreChange) async throws(TransferError) {
    guard !change.isEmpty else { return }
    try await database.write("store a change of the queue") {
      [database, rows, requestMemo, limits, reached] db in
      var writer = ChangeWriter(
        db: db, rows: rows, requestMemo: requestMemo, limits: limits, reached: reached)
      try writer.write(change)
      database.changed(db, hasRemovedSecrets: writer.hasRemovedSecrets)
    }
  }

  package func records(_ ids: [TransferID]) async throws(TransferError) -> [TransferRecord] {
    try await database.read("read transfers of the queue") { [rows] db in
      try rows.load(db)
      var reader = try RecordReader(db: db)
      return try rows.numbers(of: ids).compactMap { id, number in
        // Meanwhile the row may belong to another transfer.
        try reader.record(number).flatMap { $0.id == id ? $0 : nil }
      }
    }
  }

  package func records(where query: RecordQuery) async throws(TransferError) -> [TransferRecord] {
    try await database.read("read transfers of the queue") { db in
      var reader = try RecordReader(db: db)
      return try PageQuery(query).sequences(db).compactMap { try reader.record($0) }
    }
  }

  package func unended(at addresses: [String]) async throws(TransferError) -> [TransferID] {
    try await database.read("search the queue") { db in
      try AddressQuery(addresses: addresses).ids(db)
    }
  }

  package func batch(_ key: String) async throws(TransferError) -> [TransferID]? {
    try await database.read("read a batch of the queue") { try StoredBatch.ids(of: key, db: $0) }
  }

  package func events(
    from number: Int, atMost: Int
  ) async throws(TransferError) -> [StoredEvent]? {
    try await database.read("read the queue's events") { db in
      try EventReader(db: db).events(from: number, atMost: atMost)
    }
  }

  package func close() async { await database.close() }
}
