import GRDB
import HaulCore

/// Updates of rows that follow each other, all to the same: one statement.
struct UpdateRun {
  private let first: StoreChange.Update
  private var numbers: ClosedRange<Int64>

  init(_ update: StoreChange.Update, at sequence: Int64) {
    first = update
    numbers = sequence...sequence
  }

  /// Whether the next one can be written with these.
  mutating func extend(by next: StoreChange.Update, at sequence: Int64) -> Bool {
    guard sequence == numbers.upperBound + 1, first.keepsPlace, next.keepsPlace,
      first.request == nil, next.request == nil, first.result == next.result,
      first.standing.isState(of: next.standing)
    else { return false }
    numbers = numbers.lowerBound...sequence
    return true
  }

  func write(_ db: Database, _ results: inout ResultWriter) throws {
    let names = first.keepsPlace ? StandingColumns.state : StandingColumns.names
    let statement = try db.cachedStatement(
      sql: "UPDATE members SET \(StandingColumns.assignments(names)) WHERE seq BETWEEN ? AND ?")
    var values: [DatabaseValue] = []
    values.reserveCapacity(10)
    if first.keepsPlace {
      StandingColumns.appendState(first.standing, to: &values)
    } else {
      StandingColumns.append(first.standing, to: &values)
    }
    values.append(numbers.lowerBound.databaseValue)
    values.append(numbers.upperBound.databaseValue)
    try statement.execute(arguments: StatementArguments(of: values))
    if let result = first.result { try results.set(result, of: numbers) }
  }
}

extension Standing {
  /// Whether it is the same but for the place.
  fileprivate func isState(of other: Standing) -> Bool {
    var moved = other
    (moved.rank, moved.priority) = (rank, priority)
    return self == moved
  }
}

/// Writes results. One that says no more than which end it was stands in the member's own row.
struct ResultWriter {
  private let db: Database
  private let coding: FormCoding
  private var forms = FormMemory<StoredResult>()

  init(db: Database, coding: FormCoding) {
    self.db = db
    self.coding = coding
  }

  mutating func set(_ result: TransferResult, of numbers: ClosedRange<Int64>) throws {
    let range = [numbers.lowerBound.databaseValue, numbers.upperBound.databaseValue]
    let isPlain = result == TransferResult(state: result.state)
    let code = isPlain ? result.state.code.databaseValue : .null
    try db.cachedStatement(sql: "UPDATE members SET plain_end = ? WHERE seq BETWEEN ? AND ?")
      .execute(arguments: StatementArguments(of: [code] + range))
    if isPlain {
      return try db.cachedStatement(sql: "DELETE FROM results WHERE member BETWEEN ? AND ?")
        .execute(arguments: StatementArguments(of: range))
    }
    let text = try forms.text(StoredResult(result), coding).databaseValue
    let put = try db.cachedStatement(sql: Self.putResult)
    for number in numbers {
      try put.execute(arguments: StatementArguments(of: [number.databaseValue, text]))
    }
  }

  private static let putResult = """
    INSERT INTO results (member, form) VALUES (?, ?)
    ON CONFLICT (member) DO UPDATE SET form = excluded.form
    """
}
