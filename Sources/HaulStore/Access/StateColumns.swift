import GRDB
import HaulCore

/// The columns of a member's state, in one order for reading and writing: the state, then the rank.
enum StateColumns {
  static let state = [
    "status", "desired", "paused_by", "starts_over", "has_run", "retry_at", "wait_reason",
    "start_request",
  ]
  static let order = ["rank", "priority"]
  static let names = state + order
  static let list = names.joined(separator: ", ")

  static func assignments(_ names: [String]) -> String {
    names.map { "\($0) = ?" }.joined(separator: ", ")
  }

  static func bind(
    _ storedState: StoredState, to statement: inout RowStatement, _ coding: RowCoding
  ) throws {
    try bindState(storedState, to: &statement, coding)
    try statement.bind(storedState.rank)
    try statement.bind(storedState.priority.code)
  }

  static func bindState(
    _ storedState: StoredState, to statement: inout RowStatement, _ coding: RowCoding
  ) throws {
    try statement.bind(storedState.status.code)
    try statement.bind(storedState.desired.code)
    try statement.bind(storedState.pausedBy?.rawValue)
    try statement.bind(storedState.restartsFromZero)
    try statement.bind(hasRun(storedState))
    try statement.bind(storedState.retryAt)
    let form = storedState.waitReason.flatMap(StoredWaitReason.init)
    try statement.bind(form.map { form in try coding.encode(form) })
    try statement.bind(storedState.startRequest?.code)
  }

  /// 0: never; 1: it has run; 2: it was running when this was written.
  private static func hasRun(_ storedState: StoredState) -> Int {
    storedState.wasRunning ? 2 : storedState.hasRun ? 1 : 0
  }

  /// Reads the state from column `index` on.
  /// - Throws: `io` for a value that this version does not know.
  static func storedState(_ row: Row, from index: Int, _ coding: RowCoding) throws -> StoredState {
    var storedState = StoredState()
    storedState.status = try StoredStatus(
      code: row.decode(Int.self, atIndex: index), "state of a transfer")
    storedState.desired = try DesiredState(code: row.decode(Int.self, atIndex: index + 1), "order")
    if let initiator = try row.decode(String?.self, atIndex: index + 2) {
      guard let initiator = TransferEvent.Initiator(rawValue: initiator) else {
        throw TransferError.unreadable("the initiator of a pause")
      }
      storedState.pausedBy = initiator
    }
    storedState.restartsFromZero = try row.decode(Bool.self, atIndex: index + 3)
    let hasRun = try row.decode(Int.self, atIndex: index + 4)
    (storedState.hasRun, storedState.wasRunning) = (hasRun > 0, hasRun > 1)
    storedState.waitReason = try coding.waitReason(
      row.decode(String?.self, atIndex: index + 6),
      retryAt: row.decode(Double?.self, atIndex: index + 5))
    storedState.startRequest = try row.decode(Int64?.self, atIndex: index + 7)
      .map(StartRequest.init(code:))
    storedState.rank = try row.decode(Int64.self, atIndex: index + 8)
    storedState.priority = try TransferRequest.Priority(
      code: row.decode(Int.self, atIndex: index + 9), "priority")
    return storedState
  }
}

extension StartRequest {
  /// Its number, negative if it is forced.
  fileprivate var code: Int64 { isForced ? -number : number }

  /// - Throws: `io` for a number that is never written.
  init(code: Int64) throws(TransferError) {
    guard code != 0, code != .min else { throw .unreadable("a requested start") }
    self.init(number: abs(code), isForced: code < 0)
  }
}
