import GRDB
import HaulCore

/// A page in the order of ranks. Rare states have an index: each is searched separately, and the
/// results are merged. Other states are searched in the order of the list or group.
struct PageQuery {
  private let query: RecordQuery
  private let statuses: [StoredStatus]

  /// The states of the index `members_by_status`.
  private static let indexedStatuses: Set<StoredStatus> = [.paused, .failed]

  init(_ query: RecordQuery) {
    self.query = query
    statuses = StoredStatus.allCases.filter { query.statuses?.contains($0) ?? true }
  }

  func sequences(_ db: Database) throws -> [Int64] {
    guard !statuses.isEmpty, query.atMost > 0 else { return [] }
    let parts = searches.map { search in
      "SELECT * FROM (SELECT seq, rank, id FROM members WHERE \(search) ORDER BY rank, id LIMIT ?)"
    }
    let statement = try db.cachedStatement(
      sql: "SELECT seq FROM (\(parts.joined(separator: " UNION ALL "))) ORDER BY rank, id LIMIT ?")
    let values = parts.flatMap { _ in bound } + [query.atMost.databaseValue]
    return try Int64.fetchAll(statement, arguments: StatementArguments(of: values))
  }

  /// The conditions, one for each search. SQLite uses a partial index only for codes that appear
  /// literally.
  private var searches: [String] {
    let usesPartialIndex = query.group == nil && Self.indexedStatuses.isSuperset(of: statuses)
    let codes = statuses.map { "\($0.code)" }
    let states =
      usesPartialIndex
      ? codes.map { "status = \($0)" } : ["status IN (\(codes.joined(separator: ", ")))"]
    let group = query.group == nil ? "" : " AND group_name = ?"
    let rank = query.afterRank == nil ? "" : " AND rank > ?"
    return states.map { "\($0)\(group)\(rank)" }
  }

  /// The values of one search.
  private var bound: [DatabaseValue] {
    var values: [DatabaseValue] = []
    if let group = query.group { values.append(StoredText.value(group)) }
    if let rank = query.afterRank { values.append(rank.databaseValue) }
    values.append(query.atMost.databaseValue)
    return values
  }
}
