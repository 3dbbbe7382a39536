import GRDB

/// The row that a statement has come to, column by column: for many rows, in a third of the time
/// that `Row` takes.
struct RowColumns {
  private let row: SQLiteStatement

  init(_ statement: Statement) { row = statement.sqliteStatement }

  /// Of a column that is never NULL.
  func number(_ index: CInt) -> Int64 { Int64(sqliteStatement: row, index: index) }

  func real(_ index: CInt) -> Double? {
    DatabaseValue(sqliteStatement: row, index: index).isNull
      ? nil : Double(sqliteStatement: row, index: index)
  }

  /// As `StoredText` has written it.
  func text(_ index: CInt) throws -> String? {
    try StoredText.text(DatabaseValue(sqliteStatement: row, index: index))
  }
}

/// A statement whose values are bound one after the other. Arguments as GRDB takes them are an
/// array of boxes for each execution: with many rows more than half of the time.
struct RowStatement {
  private let statement: Statement
  private var last: CInt = 0

  init(_ db: Database, _ sql: String) throws { statement = try db.cachedStatement(sql: sql) }

  /// Begins with the first value of the next execution.
  mutating func begin() {
    statement.setUncheckedArguments(StatementArguments())
    last = 0
  }

  mutating func bind(_ value: some StatementBinding) throws {
    last += 1
    let code = value.bind(to: statement.sqliteStatement, at: last)
    guard code == ResultCode.SQLITE_OK.rawValue else {
      throw DatabaseError(resultCode: ResultCode(rawValue: code))
    }
  }

  mutating func bind(_ value: (some StatementBinding)?) throws {
    if let value { try bind(value) } else { try bind(DatabaseValue.null) }
  }

  /// As `StoredText` writes it.
  mutating func bind(text: String?) throws {
    guard let text else { return try bind(DatabaseValue.null) }
    if text.utf8.contains(0) { try bind(StoredText.value(text)) } else { try bind(text) }
  }

  func execute() throws { try statement.execute() }
}
