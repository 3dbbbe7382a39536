import GRDB
import HaulCore

/// What decisions need of a request, as columns of `members`.
enum MemberColumns {
  static let names = [
    "host", "group_name", "identifier", "dependency_policy", "is_step", "is_idempotent",
    "dependencies",
  ]
  static let list = names.joined(separator: ", ")
  static let assignments = names.map { "\($0) = ?" }.joined(separator: ", ")

  static func append(_ request: TransferRequest, to values: inout [DatabaseValue]) {
    values.append(StoredText.value(request.host))
    values.append(StoredText.value(request.group))
    values.append(StoredText.value(request.identifier))
    values.append(request.whenDependencyFails.code.databaseValue)
    if case .step(let step) = request.work {
      values.append(true.databaseValue)
      values.append(step.isIdempotent.databaseValue)
    } else {
      values.append(false.databaseValue)
      values.append(true.databaseValue)
    }
    values.append(request.after.count.databaseValue)
  }
}
