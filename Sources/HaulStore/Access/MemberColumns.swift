import GRDB
import HaulCore

/// The parts of a request that decisions need, as columns of `members`.
enum MemberColumns {
  static let names = [
    "host", "group_name", "identifier", "dependency_policy", "is_step", "is_idempotent",
    "dependencies",
  ]
  static let list = names.joined(separator: ", ")
  static let assignments = names.map { "\($0) = ?" }.joined(separator: ", ")

  static func bind(_ request: TransferRequest, to statement: inout RowStatement) throws {
    try statement.bind(text: request.host)
    try statement.bind(text: request.group)
    try statement.bind(text: request.identifier)
    try statement.bind(request.whenDependencyFails.code)
    let (storesStart, isIdempotent) = request.work.repetition
    try statement.bind(storesStart)
    try statement.bind(isIdempotent)
    try statement.bind(request.dependencies.count)
  }
}
