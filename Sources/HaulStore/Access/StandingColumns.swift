import GRDB
import HaulCore

/// The columns of a member's standing, in one order for reading and for writing: its state, then its place.
enum StandingColumns {
  static let state = [
    "status", "desired", "paused_by", "starts_over", "has_run", "retry_at", "wait_reason",
  ]
  static let place = ["rank", "priority"]
  static let names = state + place
  static let list = names.joined(separator: ", ")

  static func assignments(_ names: [String]) -> String {
    names.map { "\($0) = ?" }.joined(separator: ", ")
  }

  static func bind(
    _ standing: Standing, to statement: inout RowStatement, _ coding: FormCoding
  ) throws {
    try bindState(standing, to: &statement, coding)
    try statement.bind(standing.rank)
    try statement.bind(standing.priority.code)
  }

  static func bindState(
    _ standing: Standing, to statement: inout RowStatement, _ coding: FormCoding
  ) throws {
    try statement.bind(standing.status.code)
    try statement.bind(standing.desired.code)
    try statement.bind(standing.pausedBy?.rawValue)
    try statement.bind(standing.startsOver)
    try statement.bind(hasRun(standing))
    try statement.bind(standing.retryAt)
    let form = standing.waitReason.flatMap(StoredWaitReason.init)
    try statement.bind(form.map { form in try coding.text(form) })
  }

  /// 0: never, 1: it has, 2: it did when this was written.
  private static func hasRun(_ standing: Standing) -> Int {
    standing.isUnderWay ? 2 : standing.hasRun ? 1 : 0
  }

  /// Reads them from column `index` on.
  /// - Throws: `io` for a value that this version does not know.
  static func standing(_ row: Row, from index: Int, _ coding: FormCoding) throws -> Standing {
    var standing = Standing()
    standing.status = try TransferStatus(
      code: row.decode(Int.self, atIndex: index), "state of a transfer")
    standing.desired = try Desired(code: row.decode(Int.self, atIndex: index + 1), "order")
    if let origin = try row.decode(String?.self, atIndex: index + 2) {
      guard let origin = TransferEvent.Origin(rawValue: origin) else {
        throw TransferError.unreadable("one who paused")
      }
      standing.pausedBy = origin
    }
    standing.startsOver = try row.decode(Bool.self, atIndex: index + 3)
    let hasRun = try row.decode(Int.self, atIndex: index + 4)
    (standing.hasRun, standing.isUnderWay) = (hasRun > 0, hasRun > 1)
    standing.waitReason = try coding.waitReason(
      row.decode(String?.self, atIndex: index + 6),
      retryAt: row.decode(Double?.self, atIndex: index + 5))
    standing.rank = try row.decode(Int64.self, atIndex: index + 7)
    standing.priority = try TransferRequest.Priority(
      code: row.decode(Int.self, atIndex: index + 8), "priority")
    return standing
  }
}
