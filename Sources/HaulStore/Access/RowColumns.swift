import GRDB

/// The current row of a statement, column by column: for many rows it takes a third of the time of
/// `Row`.
struct RowColumns {
  private let row: SQLiteStatement

  init(_ statement: Statement) { row = statement.sqliteStatement }

  /// For a column that is never NULL.
  func number(_ index: CInt) -> Int64 { Int64(sqliteStatement: row, index: index) }

  func real(_ index: CInt) -> Double? {
    DatabaseValue(sqliteStatement: row, index: index).isNull
      ? nil : Double(sqliteStatement: row, index: index)
  }

  /// Text that `StoredText` wrote.
  func text(_ index: CInt) throws -> String? {
    try StoredText.text(DatabaseValue(sqliteStatement: row, index: index))
  }
}

/// A statement with directly bound values. GRDB's arguments are an array of boxes for each
/// execution: with many rows, they take more than half of the time.
struct RowStatement {
  private let statement: Statement
  private var last: CInt = 0

  init(_ db: Database, _ sql: String) throws { statement = try db.cachedStatement(sql: sql) }

  /// Starts with the first value of the next execution.
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

  /// Binds text as `StoredText` writes it.
  mutating func bind(text: String?) throws {
    guard let text else { return try bind(DatabaseValue.null) }
    if StoredText.hasNUL(text) { try bind(StoredText.value(text)) } else { try bind(text) }
  }

  func execute() throws { try statement.execute() }
}
