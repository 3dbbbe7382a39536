import GRDB
import HaulCore

extension TransferError {
  /// The error for a failed database call.
  /// - Parameter action: what was attempted, as in "cannot ACTION".
  init(storing error: any Error, while action: String) {
    switch error {
    case let error as TransferError: self = error
    case let error as DatabaseError: self.init(error, while: action)
    default:
      self.init(
        .io,
        "cannot \(action): the database contains data that this version cannot read",
        advice: "open it with the version that wrote it")
    }
  }

  /// The message never includes the statement; SQLite's own message has no values in it.
  private init(_ error: DatabaseError, while action: String) {
    let reason = error.message ?? "no reason given"
    switch error.resultCode {
    case .SQLITE_FULL:
      self = .fullDisk(action)
    case .SQLITE_IOERR where error.extendedResultCode == .SQLITE_IOERR_SHMSIZE:
      self = .fullDisk(action)
    case .SQLITE_CONSTRAINT where reason.hasBytes("members.identifier"):
      self.init(
        .io, "cannot \(action): another transfer has this identifier",
        advice: "choose a different one")
    case .SQLITE_CORRUPT, .SQLITE_NOTADB:
      self.init(
        .io,
        "cannot \(action): the database is damaged (\(reason))",
        advice: "restart the program: it then checks the whole database")
    case .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_CANTOPEN, .SQLITE_AUTH:
      self.init(
        .io,
        "cannot \(action): \(reason)",
        advice: "check that the database's directory exists and that you may write to it")
    case .SQLITE_BUSY, .SQLITE_LOCKED:
      self.init(
        .io, "cannot \(action): another program has the database open",
        advice: "close it and try again")
    default:
      self.init(
        .io,
        "cannot \(action): \(reason) (SQLite \(error.extendedResultCode.rawValue))",
        advice: "check the disk")
    }
  }

  private static func fullDisk(_ action: String) -> TransferError {
    TransferError(
      .diskFull,
      "cannot \(action): the disk is full",
      advice: "free some space and try again, nothing has changed")
  }

  /// A column or a stored form with an unexpected value.
  static func unreadable(_ what: String) -> TransferError {
    TransferError(
      .io,
      "the queue's database holds \(what), which this version cannot read",
      advice: "open it with the version that wrote it")
  }
}

extension DatabaseError {
  /// Whether the database itself is damaged.
  var isDamage: Bool { resultCode == .SQLITE_CORRUPT || resultCode == .SQLITE_NOTADB }
}
