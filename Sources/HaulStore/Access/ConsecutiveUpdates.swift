import GRDB
import HaulCore

/// Equal updates of consecutive rows, written with one statement.
struct ConsecutiveUpdates {
  private let first: StoreChange.Update
  private var numbers: ClosedRange<Int64>

  init(_ update: StoreChange.Update, at sequence: Int64) {
    first = update
    numbers = sequence...sequence
  }

  /// Adds the next update if it can be written with these; false otherwise.
  mutating func extend(by next: StoreChange.Update, at sequence: Int64) -> Bool {
    guard sequence == numbers.upperBound + 1, first.keepsRankAndPriority, next.keepsRankAndPriority,
      first.request == nil, next.request == nil, first.result == next.result,
      first.storedState.equalsExceptRank(of: next.storedState)
    else { return false }
    numbers = numbers.lowerBound...sequence
    return true
  }

  /// - Parameter time: the present time.
  func write(
    _ db: Database, _ results: inout ResultWriter, _ coding: RowCoding, at time: Double?
  ) throws {
    var names = first.keepsRankAndPriority ? StateColumns.state : StateColumns.names
    if first.result != nil { names += ["plain_end", "ended"] }
    var update = try RowStatement(
      db, "UPDATE members SET \(StateColumns.assignments(names)) WHERE seq BETWEEN ? AND ?")
    update.begin()
    if first.keepsRankAndPriority {
      try StateColumns.bindState(first.storedState, to: &update, coding)
    } else {
      try StateColumns.bind(first.storedState, to: &update, coding)
    }
    if let result = first.result {
      try update.bind(result.plainEnd)
      try update.bind(time)
    }
    try update.bind(numbers.lowerBound)
    try update.bind(numbers.upperBound)
    try update.execute()
    if let result = first.result { try results.set(result, of: numbers) }
  }
}

extension StoredState {
  /// Whether it is the same except for the rank.
  fileprivate func equalsExceptRank(of other: StoredState) -> Bool {
    var moved = other
    (moved.rank, moved.priority) = (rank, priority)
    return self == moved
  }
}

/// Writes results. A result that has only a state is stored in the member's own row.
struct ResultWriter {
  private let coding: RowCoding
  private var drop: RowStatement
  private var put: RowStatement
  private var memo = RowCodingMemo<StoredResult>()

  init(db: Database, coding: RowCoding) throws {
    self.coding = coding
    drop = try RowStatement(db, "DELETE FROM results WHERE member BETWEEN ? AND ?")
    put = try RowStatement(
      db,
      """
      INSERT INTO results (member, form) VALUES (?, ?)
      ON CONFLICT (member) DO UPDATE SET form = excluded.form
      """)
  }

  /// - Parameter numbers: of rows with the same `plainEnd`.
  mutating func set(_ result: TransferResult, of numbers: ClosedRange<Int64>) throws {
    guard result.plainEnd == nil else {
      drop.begin()
      try drop.bind(numbers.lowerBound)
      try drop.bind(numbers.upperBound)
      return try drop.execute()
    }
    let text = try memo.encode(StoredResult(result), coding)
    for number in numbers {
      put.begin()
      try put.bind(number)
      try put.bind(text)
      try put.execute()
    }
  }
}

extension TransferResult {
  /// The code of the state, if the result has nothing else.
  var plainEnd: Int? { self == TransferResult(state: state) ? state.code : nil }
}
