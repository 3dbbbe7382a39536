import GRDB
import HaulCore

/// A page as one search for each state, each along an index and of a page's length at most, merged by rank.
struct PageQuery {
  private let query: RecordQuery
  private let statuses: [TransferStatus]

  init(_ query: RecordQuery) {
    self.query = query
    statuses = TransferStatus.allCases.filter { query.statuses?.contains($0) ?? true }
  }

  func sequences(_ db: Database) throws -> [Int64] {
    guard !statuses.isEmpty, query.atMost > 0 else { return [] }
    let parts = statuses.map { _ in part }.joined(separator: " UNION ALL ")
    let statement = try db.cachedStatement(
      sql: "SELECT seq FROM (\(parts)) ORDER BY rank, id LIMIT ?")
    let values = statuses.flatMap(values) + [query.atMost.databaseValue]
    return try Int64.fetchAll(statement, arguments: StatementArguments(of: values))
  }

  private var part: String {
    let group = query.group == nil ? "" : "group_name = ? AND "
    let rank = query.afterRank == nil ? "" : " AND rank > ?"
    return "SELECT * FROM (SELECT seq, rank, id FROM members "
      + "WHERE \(group)status = ?\(rank) ORDER BY rank, id LIMIT ?)"
  }

  private func values(_ status: TransferStatus) -> [DatabaseValue] {
    var values: [DatabaseValue] = []
    if let group = query.group { values.append(StoredText.value(group)) }
    values.append(status.code.databaseValue)
    if let rank = query.afterRank { values.append(rank.databaseValue) }
    values.append(query.atMost.databaseValue)
    return values
  }
}
