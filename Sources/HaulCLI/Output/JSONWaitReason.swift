import HaulCore

/// `{ "code", "until", "transfer", "blocked", "directory", "needed", "free" }`; fields that do not
/// belong to the code are null.
struct JSONWaitReason: Encodable {
  private let reason: WaitReason

  init(_ reason: WaitReason) { self.reason = reason }

  func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: Key.self)
    try object.encode(reason.code, forKey: .code)
    try object.encode(reason.until.flatMap(Self.time), forKey: .until)
    var other: (id: TransferID, isBlocked: Bool)?
    if case .dependency(let id, let isBlocked) = reason { other = (id, isBlocked) }
    try object.encode(other?.id.description, forKey: .transfer)
    try object.encode(other?.isBlocked, forKey: .blocked)
    var shortage: WaitReason.Shortage?
    if case .diskFull(let found) = reason { shortage = found }
    var directory = shortage?.directory
    if case .directoryMissing(let path, _) = reason { directory = path }
    try object.encode(directory, forKey: .directory)
    try object.encode(shortage?.needed, forKey: .needed)
    try object.encode(shortage?.free, forKey: .free)
  }

  /// Nil if it is not a date.
  private static func time(_ wallSeconds: Double) -> String? {
    (0..<1e11).contains(wallSeconds) ? JSONLines.time(wallSeconds) : nil
  }

  private enum Key: String, CodingKey {
    case code, until, transfer, blocked, directory, needed, free
  }
}
