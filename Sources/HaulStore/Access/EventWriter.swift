import GRDB
import HaulCore

/// Appends to the log of state changes, which keeps the newest ones up to a limit.
struct EventWriter {
  let db: Database
  let kept: Int
  let coding: RowCoding

  func write(_ events: [StoredEvent]) throws {
    guard let last = events.last else { return }
    var insert = try RowStatement(
      db, "INSERT INTO events (number, id, kind, detail) VALUES (?, ?, ?, ?)")
    var results = RowCodingMemo<StoredResult>()
    // Events that would be dropped at once are not written.
    for event in events.suffix(max(kept, 1)) {
      let kind = try storedKind(event, &results)
      insert.begin()
      try insert.bind(event.number)
      try insert.bind(Int64(event.id.bits))
      try insert.bind(kind.code)
      try insert.bind(text: kind.detail)
      try insert.execute()
    }
    // One event is always kept: the next event continues its number. The first has the number 1.
    guard last.number > max(kept, 1) else { return }
    try db.cachedStatement(sql: "DELETE FROM events WHERE number <= ?")
      .execute(arguments: StatementArguments([last.number - max(kept, 1)]))
  }

  /// Encodes equal results once: cancelling a whole list stores many of them.
  private func storedKind(
    _ event: StoredEvent, _ results: inout RowCodingMemo<StoredResult>
  ) throws -> StoredKind {
    guard case .finished(let result) = event.kind else {
      return try StoredKind(event.kind, coding)
    }
    var form = StoredResult(result)
    form.group = event.groupEnd
    return StoredKind(code: StoredKind.finished, detail: try results.encode(form, coding))
  }
}

/// Reads the log of state changes.
struct EventReader {
  let db: Database

  /// Nil if the log has dropped that number.
  func events(from number: Int, atMost: Int) throws -> [StoredEvent]? {
    let first = try Int.fetchOne(db, sql: "SELECT min(number) FROM events")
    guard number >= first ?? 1 else { return nil }
    let coding = RowCoding()
    let statement = try db.cachedStatement(
      sql: "SELECT number, id, kind, detail FROM events WHERE number >= ? ORDER BY number LIMIT ?")
    let rows = try Row.fetchCursor(
      statement, arguments: StatementArguments([number, max(atMost, 0)]))
    var events: [StoredEvent] = []
    while let row = try rows.next() {
      let kind = StoredKind(
        code: try row.decode(Int.self, atIndex: 2), detail: try StoredText.text(row, 3))
      let (known, groupEnd) = try kind.kind(coding)
      events.append(
        StoredEvent(
          number: try row.decode(Int.self, atIndex: 0),
          id: try TransferID(stored: row.decode(Int64.self, atIndex: 1)), kind: known,
          groupEnd: groupEnd))
    }
    return events
  }
}

extension TransferID {
  /// - Throws: `io` for a number that is not an id.
  init(stored number: Int64) throws(TransferError) {
    guard let bits = UInt64(exactly: number), let id = TransferID(bits: bits) else {
      throw .unreadable("an id")
    }
    self = id
  }
}
